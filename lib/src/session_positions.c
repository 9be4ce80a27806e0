/* The rows of once.position, as a session reads, takes and makes them. */
#include "session.h"

typedef bool ask_position_f(struct once_session *session,
			    const struct once__partition *partition,
			    struct once_position *position);

static bool read_position(struct once_session *session,
			  const struct once__partition *partition,
			  struct once_position *position)
{
	return once__positions_read(session->pg, partition, position);
}

static bool take_position(struct once_session *session,
			  const struct once__partition *partition,
			  struct once_position *position)
{
	const struct once_instance *instance = session->instance;

	return read_position(session, partition, position) &&
	       once__positions_take(session->pg, partition,
				    instance == NULL ? NULL : instance->id,
				    &position->tenure);
}

static enum once_status ask_position(struct once_session *session,
				     const struct once__partition *partition,
				     ask_position_f *ask,
				     struct once_position *ret_position,
				     struct once_error *err)
{
	enum once_status status = once_session_connect(session, err);

	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	return once__session_finish(session,
				    ask(session, partition, ret_position), err);
}

enum once_status once_session_read_position(struct once_session *session,
					    const char *group,
					    const char *topic,
					    int32_t partition,
					    struct once_position *ret_position,
					    struct once_error *err)
{
	struct once__partition asked = { group, topic, partition };

	return ask_position(session, &asked, read_position, ret_position, err);
}

enum once_status once_session_take_position(struct once_session *session,
					    const char *group,
					    const char *topic,
					    int32_t partition,
					    struct once_position *ret_position,
					    struct once_error *err)
{
	struct once__partition asked = { group, topic, partition };

	return ask_position(session, &asked, take_position, ret_position, err);
}

enum once_status once_session_create_positions(
	struct once_session *session, const char *group, const char *topic,
	const int64_t *offsets, size_t count, struct once_error *err)
{
	struct once__starts starts = { group, topic, offsets, count };
	enum once_status status = once_session_connect(session, err);

	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	once__positions_write(&session->positions, session->pg, &starts);
	return once__session_finish(session, once__pg_wait(session->pg), err);
}

enum once_status once_session_disown_log(struct once_session *session,
					 const char *group, const char *topic,
					 int32_t partition, int64_t offset,
					 struct once_error *err)
{
	struct once__partition disowned = { group, topic, partition };
	enum once_status status = once_session_connect(session, err);

	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	once__positions_disown(session->pg, &disowned, offset);
	return once__session_finish(session, once__pg_wait(session->pg), err);
}

enum once_status once_session_name_log(struct once_session *session,
				       const char *group, const char *topic,
				       int32_t partition, const char *log_id,
				       struct once_error *err)
{
	struct once__partition named = { group, topic, partition };
	enum once_status status = once_session_connect(session, err);

	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	once__positions_name_log(session->pg, &named, log_id);
	return once__session_finish(session, once__pg_wait(session->pg), err);
}
