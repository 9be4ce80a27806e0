/* Parked messages whose time has come: any lane of any process takes them, one
 * between two batches. */
#include "lane_work.h"

#include "clock.h"
#include "numbers.h"

enum {
	LOOK_EVERY_MS =
		1000 /* somebody else may have parked, or redriven one */
};

static void look_again(struct lane_work *work, int64_t due_ms)
{
	if (due_ms < 0 || due_ms > LOOK_EVERY_MS)
		due_ms = LOOK_EVERY_MS;
	work->waiting_at_ms = clock_ms() + due_ms;
}

enum once_status lane_work_run_waiting(struct lane_work *work,
				       struct once_error *err)
{
	struct numbers *numbers = work->options->numbers;
	struct once_run_stats stats;
	struct once_item item;
	int64_t began_ns = clock_ns();
	int64_t due_ms;
	enum once_status status;

	status = once_session_run_waiting(work->session, &item, &stats, &due_ms,
					  err);
	if (!item.parked) {
		look_again(work, due_ms);
		return status;
	}
	numbers_count_run(numbers, work->options->index, &stats,
			  status == ONCE_UNKNOWN,
			  (double)(clock_ns() - began_ns) / 1e9, 1);
	if (once_ending_is_final(item.ending))
		numbers_resumed(numbers, item.route);
	lane_work_end(work, &item, NULL, 1);
	return status;
}
