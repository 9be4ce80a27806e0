/* marked.c - what a lane does for a partition, by hand. */
#include "marked.h"

#include <check.h>

static const struct once_prefilter_options usual = {
	.local_max_bytes = 1 << 20,
	.retention_ms = -1,
};

static void open_filtered(struct marked *marked,
			  const struct once_prefilter_options *options)
{
	struct trial *trial = &marked->trial;

	ck_assert_msg(once_prefilter_create(options == NULL ? &usual : options,
					    &trial->prefilter,
					    &trial->err) == ONCE_OK,
		      "%s", trial->err.text);
	trial->session = trial_open_session(trial, NULL);
}

void marked_init(struct marked *marked, const struct once_route_options *route,
		 const struct once_prefilter_options *options)
{
	static const int64_t zero = 0;
	struct trial *trial = &marked->trial;

	trial_init(trial, route, 1);
	once_session_destroy(trial->session);
	open_filtered(marked, options);
	ck_assert_int_eq(once_session_create_positions(trial->session, "g", "t",
						       &zero, 1, &trial->err),
			 ONCE_OK);
	marked->strand = (struct once_strand){ "g", "t", 0, 0, 0, 0 };
	marked_take(marked);
	mail_init(&marked->mail, 1);
	mail_set_strand(&marked->mail, 0, &marked->strand);
}

void marked_fini(struct marked *marked)
{
	mail_fini(&marked->mail);
	trial_fini(&marked->trial);
}

void marked_restart(struct marked *marked,
		    const struct once_prefilter_options *options)
{
	once_session_destroy(marked->trial.session);
	once_prefilter_destroy(marked->trial.prefilter);
	open_filtered(marked, options);
	marked_take(marked);
}

void marked_take(struct marked *marked)
{
	struct trial *trial = &marked->trial;
	struct once_position position;

	ck_assert_msg(once_session_take_position(trial->session, "g", "t", 0,
						 &position,
						 &trial->err) == ONCE_OK,
		      "%s", trial->err.text);
	marked->strand.next_offset = position.next_offset;
	marked->strand.attempts = position.attempts;
	marked->strand.tenure = position.tenure;
	ck_assert_int_ne(position.tenure, 0);
}

const struct once_item *marked_give_expect(struct marked *marked,
					   const char *id, const char *biz,
					   const char *value,
					   enum once_status expected)
{
	struct once_item *item = &marked->mail.items[0];

	mail_again(&marked->mail);
	mail_set_id(&marked->mail, 0, id);
	mail_set_biz(&marked->mail, 0, biz);
	mail_set_value(&marked->mail, 0, value);
	item->record.offset = marked->strand.next_offset;
	item->attempt = marked->strand.attempts + 1;
	trial_run(&marked->trial, &marked->mail, expected);
	return item;
}

const struct once_item *marked_give(struct marked *marked, const char *id,
				    const char *biz, const char *value)
{
	return marked_give_expect(marked, id, biz, value, ONCE_OK);
}
