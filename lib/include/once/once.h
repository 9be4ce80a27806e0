/*
 * once/once.h - libonce for programs that bring their own messages: from a
 * Kafka consumer (onced is one), an HTTP callback, a cron job.
 *
 *	route    what makes two messages the same, and who handles them
 *	session  one database session with its handler instances
 *	batch    messages that are claimed, handled and committed together
 *
 * The promise: within one scope a handler's database writes take effect once
 * per msg_id and once per biz_id, however often a message is given.
 *
 * Threads: routes are shared freely after once_route_create(): what their
 * sessions tell each other through them is atomic or locked. A
 * session belongs to the thread that made it.
 */
#ifndef ONCE_ONCE_H
#define ONCE_ONCE_H

#include <once/handler.h>
#include <once/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- routes ---- */

enum once_bad_key_policy {
	ONCE_BAD_KEY_PARK, /* the message is parked dead */
	ONCE_BAD_KEY_HALT  /* its strand stops there */
};

enum once_conflict_policy {
	ONCE_CONFLICT_PARK, /* parked dead, with both fingerprints */
	ONCE_CONFLICT_SKIP  /* counted, and passed over like a duplicate */
};

/* What comes behind a message that failed. */
enum once_order {
	ONCE_ORDER_STRAND, /* later ones of its strand wait */
	ONCE_ORDER_NONE    /* it is parked until its next attempt; they go on */
};

struct once_route_options {
	const char *name;
	const char *scope;  /* the name space of its keys */
	const char *msg_id; /* template; NULL: the usual headers */
	const char *biz_id; /* template; NULL: none */
	const char
		*fingerprint; /* "value", "none" or a template; NULL: value */
	enum once_bad_key_policy on_bad_key;
	enum once_conflict_policy on_conflict;
	enum once_order order;
	unsigned max_attempts;  /* 0: for ever */
	int64_t first_delay_ms; /* of a parked one's next attempt; doubles, */
	int64_t max_delay_ms;   /* up to this */
	unsigned max_crashes;   /* processes that died on it; 0: no limit */
	/* SQLSTATEs ("23505"), or classes of them ("22"), of a statement that
	 * will never succeed: no further attempt. Copied. */
	const char *const *never;
	size_t never_count;
	/* After so many dead ones of one cause in a row, in all sessions, the
	 * strand of the next one stops: HALTED. 0: never. */
	unsigned halt_after_dead;
	int64_t timeout_ms; /* one call, its statements included; 0: none */
	const struct once_handler *handler; /* outlives the route */
	const char *const *settings;        /* "name=value" each; copied */
	size_t setting_count;
};

struct once_route;

/* Compile and check. INVALID: a template is wrong, with what to write instead.
 * CONFIG: the handler's descriptor is (its ABI, its size, no handle()). */
ONCE_API enum once_status once_route_create(
	const struct once_route_options *options, struct once_route **ret_route,
	struct once_error *err) ONCE_MUST_CHECK;
ONCE_API void once_route_destroy(struct once_route *route);
ONCE_API const char *once_route_name(const struct once_route *route);
/* Its transactions run one after the other, in all sessions, for they have met
 * deadlocks. Threads: any. */
ONCE_API int once_route_takes_turns(const struct once_route *route);

/* The keys that a route would make, for looking at messages beforehand: no
 * handler is asked for, no database. Threads: one. */
struct once_key_reader;
struct once_record;

struct once_read_key {
	struct once_bytes text;   /* data NULL: the route has no such key */
	unsigned char digest[16]; /* of scope and text */
	int shortened;            /* to its beginning and a SHA-256 */
};

#define ONCE_FINGERPRINT_SIZE 20

struct once_read_keys {
	struct once_read_key msg_id;
	struct once_read_key biz_id;
	struct once_bytes fingerprint; /* data NULL: none */
};

/* `options`: the handler and how it is called don't matter. */
ONCE_API enum once_status once_key_reader_create(
	const struct once_route_options *options,
	struct once_key_reader **ret_reader,
	struct once_error *err) ONCE_MUST_CHECK;
ONCE_API void once_key_reader_destroy(struct once_key_reader *reader);

/* INVALID: a bad key, with the reason. The keys live until the next call. */
ONCE_API enum once_status once_key_reader_read(
	struct once_key_reader *reader, const struct once_record *record,
	struct once_read_keys *ret_keys,
	struct once_error *err) ONCE_MUST_CHECK;

/* Do two fingerprints say that the payloads differ? Without one, or with two
 * of different kinds, they don't. */
ONCE_API int once_fingerprints_differ(struct once_bytes a, struct once_bytes b);

/* ---- prefilters ---- */

/* Marks of what was handled, in the process's memory and in a Redis, that stop
 * duplicates before the log is asked. They save work and decide nothing: a hit
 * counts only where the database's own positions prove it, so only messages
 * that have a strand with a tenure are marked. */
struct once_prefilter_options {
	size_t local_max_bytes; /* 0: none in memory */
	const char *redis_url;  /* NULL: none in Redis; copied */
	int64_t redis_timeout_ms;
	int64_t redis_ttl_ms; /* at most retention_ms */
	int redis_pause;      /* hold, while Redis isn't there */
	int64_t retention_ms; /* of the log's rows; negative: for ever */
};

struct once_prefilter_view {
	int redis_open; /* the circuit: Redis isn't asked now */
	uint64_t redis_errors;
	char redis_trouble[256]; /* of the last one; "": none */
};

struct once_prefilter;

/* INVALID: the URL or the ttl, with what to write instead. */
ONCE_API enum once_status once_prefilter_create(
	const struct once_prefilter_options *options,
	struct once_prefilter **ret_prefilter,
	struct once_error *err) ONCE_MUST_CHECK;
/* Its sessions are gone. */
ONCE_API void once_prefilter_destroy(struct once_prefilter *prefilter);
/* Ask Redis for something. TRANSIENT: it isn't there, or doesn't let us. */
ONCE_API enum once_status once_prefilter_check(struct once_prefilter *prefilter,
					       struct once_error *err)
	ONCE_MUST_CHECK;
/* Threads: any. */
ONCE_API void once_prefilter_get_view(const struct once_prefilter *prefilter,
				      struct once_prefilter_view *ret_view);

/* ---- sessions ---- */

enum once_durability {
	ONCE_DURABILITY_DATABASE, /* COMMIT waits for the disk */
	ONCE_DURABILITY_SOURCE    /* it doesn't: the source is read again */
};

enum once_isolation {
	ONCE_READ_COMMITTED,
	ONCE_REPEATABLE_READ,
	ONCE_SERIALIZABLE
};

/* What a handler says with once_log(). */
typedef void once_log_f(void *arg, int level, const struct once_message *msg,
			const struct once_route *route, const char *text);

/* A running program, as others see it in the database: a row of once.instance
 * and an advisory lock, held by all of its sessions. A row that outlives the
 * lock is a crash. */
struct once_instance {
	const char *id; /* a UUID, drawn at the program's start */
	const char *group;
	const char *host;
	int pid;
};

/* Called at most once for each transaction of a run, while the database has
 * something to work on. Of the session it may call once_session_prepare() and
 * nothing else. */
typedef void once_meanwhile_f(void *arg);

/* What ends a wait that nothing else would end, in ms. 0: the default, as said;
 * negative: nothing. */
struct once_limits {
	/* 10 s. The server ends a session that says nothing for longer within a
	 * transaction, and so takes its locks away: its process is frozen, or
	 * its host is gone. While a handler runs its route's timeout_ms is
	 * added. */
	int64_t idle_ms;
	/* 5 s. A statement waits for a lock; a handler's at most half of its
	 * route's timeout_ms. The text of the error says who has it. */
	int64_t lock_ms;
	/* 60 s. A statement of libonce's own takes that long; idle_ms later the
	 * session is given up, for its server has not cut it off. */
	int64_t answer_ms;
};

/* Asked before each call of a handler but a transaction's first: is somebody
 * waiting for this session? If so, what was called is committed, and the run
 * ends. */
typedef int once_hurry_f(void *arg);

struct once_session_options {
	const char *conninfo;         /* libpq's conninfo or URL */
	const char *application_name; /* for pg_stat_activity */
	enum once_durability durability;
	enum once_isolation isolation;
	const struct once_route *const *routes; /* outlive the session */
	size_t route_count;
	const struct once_instance *instance; /* outlives it; NULL: none */
	int64_t retention_ms; /* how long the instance's group wants rows of the
				log to be kept, whoever cleans it; -1: for
				ever; 0: that isn't said */
	struct once_prefilter *prefilter; /* shared; outlives it; or NULL */
	size_t max_messages; /* of a transaction, aside those that a prefilter
				has a mark of or that are plain duplicates;
				0: no limit */
	int64_t max_time_ms; /* for so long a transaction goes on calling
				handlers; then it is committed, and the run
				ends; 0: no limit */
	struct once_limits limits;
	unsigned lane;   /* tells an instance's sessions apart */
	once_log_f *log; /* NULL: silence */
	void *log_arg;
	once_meanwhile_f *meanwhile; /* NULL: nothing */
	void *meanwhile_arg;
	once_hurry_f *hurry; /* NULL: never */
	void *hurry_arg;
};

struct once_session;

/* Make the handlers' instances; nothing is connected yet. CONFIG: a handler
 * refused, with its reason. */
ONCE_API enum once_status once_session_create(
	const struct once_session_options *options,
	struct once_session **ret_session,
	struct once_error *err) ONCE_MUST_CHECK;
ONCE_API void once_session_destroy(struct once_session *session);

/* Connect if that is needed. TRANSIENT: the server isn't there now. CONFIG: the
 * schema is missing or of another version. DENIED: the role lacks a grant. */
ONCE_API enum once_status once_session_connect(
	struct once_session *session, struct once_error *err) ONCE_MUST_CHECK;

/* Is the schema still one that this library runs on? Somebody may have migrated
 * it. CONFIG: not any more, and it won't be by itself. */
ONCE_API enum once_status once_session_check_schema(
	struct once_session *session, struct once_error *err) ONCE_MUST_CHECK;

/* How often it has connected. When it rises, the server may be another one (a
 * standby that lacks the last transactions): what was read before is stale. */
ONCE_API unsigned once_session_connections(const struct once_session *session);

/* A clean end of the program, said by the last of its sessions: what it held
 * wasn't left behind by a crash. */
ONCE_API enum once_status once_session_sign_off(
	struct once_session *session, struct once_error *err) ONCE_MUST_CHECK;

/* Now and then, also without messages: a Redis that was gone may be back.
 * Never waits. */
ONCE_API void once_session_tend(struct once_session *session);

enum {
	ONCE_TOPIC_SIZE = 256 /* a longer one is cut */
};

/* The call of a handler that is going on. */
struct once_current_call {
	int64_t began_ms; /* monotonic; 0: none is */
	size_t route;
	char topic[ONCE_TOPIC_SIZE];
	int32_t partition;
	int64_t offset;
};

/* Threads: any. For who watches over handlers that don't return. */
ONCE_API void once_session_get_call(const struct once_session *session,
				    struct once_current_call *ret_call);

/* When something last happened in a run: a call began, the database answered.
 * Monotonic; 0: never. Threads: any. */
ONCE_API int64_t once_session_moved_ms(const struct once_session *session);

/* ---- batches ---- */

struct once_header {
	const char *name;
	struct once_bytes value;
};

/* A message as it came. Borrowed throughout. Topic, partition and offset name
 * it in the log and among the parked: a source without such things makes up
 * some that no two messages share. */
struct once_record {
	const char *topic;
	int32_t partition;
	int64_t offset;
	int64_t time_ms; /* since 1970 UTC; -1 if unknown */
	struct once_bytes key;
	struct once_bytes value;
	const struct once_header *headers;
	size_t header_count;
	/* Which log of that topic and partition the offset is of: 0, and one
	 * more each time that another log was found in its place. A part of
	 * {offset}, of crash counts and of the parked row's name. */
	int32_t log_generation;
};

/* Messages that are handled strictly one behind the other (a partition), and
 * the row of once.position that moves with them. NULL strand: no order, no
 * position. */
struct once_strand {
	const char *group;
	const char *topic;
	int32_t partition;
	/* In: where the row stands. Out: where it stands now. If the row
	 * disagrees, the transaction is rolled back: FENCED. */
	int64_t next_offset;
	/* In and out: how often the message that is next has failed. Kept with
	 * the row: a restart doesn't begin again. */
	unsigned attempts;
	/* From once_session_take_position(). 0: none, and no prefilter is told
	 * of its messages. */
	int64_t tenure;
};

/* How a message stands after a run. HANDLED to WAITING are final: they are
 * committed, and the strand's position is past them. */
/* clang-format off */
#define ONCE_ENDING_TABLE(X)                                                \
	X(PENDING,   "pending",   "nothing happened to it yet")             \
	X(HANDLED,   "handled",   "claimed, handled, committed")            \
	X(DUPLICATE, "duplicate", "its key was claimed before")             \
	X(CONFLICT,  "conflict",  "its key was claimed by another payload") \
	X(DEAD,      "dead",      "parked, for a person to decide")         \
	X(WAITING,   "waiting",   "parked, until its next attempt")         \
	X(RETRY,     "retry",     "rolled back; give it again after a pause")\
	X(PAUSED,    "paused",    "rolled back; its handler waits for something")\
	X(HELD,      "held",      "waits behind another one of its strand") \
	X(HALTED,    "halted",    "its strand stops here until a person acts")

/* Why a message didn't just succeed. */
#define ONCE_CAUSE_TABLE(X)                                              \
	X(NONE,        "none")                                           \
	X(BAD_KEY,     "bad_key")     /* a template yields no key */     \
	X(CONFLICT,    "conflict")                                       \
	X(REJECTED,    "rejected")    /* the handler said so */          \
	X(ASKED,       "asked")       /* the handler wants a retry */    \
	X(STATEMENT,   "statement")   /* one of its statements failed */ \
	X(PERMANENT,   "permanent")   /* one failed as it always will */ \
	X(ATTEMPTS,    "attempts")    /* max_attempts reached */         \
	X(HIDDEN,      "hidden_error") /* DONE after a failed statement */ \
	X(TRANSACTION, "transaction") /* it ended the transaction */     \
	X(VERDICT,     "bad_verdict") /* it returned no verdict */       \
	X(TIMEOUT,     "timeout")     /* the call took too long */       \
	X(CRASHED,     "crashed")     /* max_crashes reached */          \
	X(ENVIRONMENT, "environment") /* a right or a table is missing */ \
	X(LOCKED,      "locked")      /* somebody holds a lock */         \
	X(DEAD_ROW,    "many_dead")   /* halt_after_dead in a row were dead */
/* clang-format on */

enum once_ending {
#define X(name, word, text) ONCE_##name##_ENDING,
	ONCE_ENDING_TABLE(X)
#undef X
};

enum once_cause {
#define X(name, word) ONCE_CAUSE_##name,
	ONCE_CAUSE_TABLE(X)
#undef X
};

/* Which key a duplicate or conflict shares, and who found it. */
enum once_key_kind {
	ONCE_KEY_MSG_ID,
	ONCE_KEY_BIZ_ID
};
enum once_stage {
	ONCE_STAGE_BATCH,
	ONCE_STAGE_LOCAL,
	ONCE_STAGE_REDIS,
	ONCE_STAGE_DATABASE
};

#define ONCE_REASON_SIZE 256

struct once_item {
	/* in */
	size_t route; /* index into the session's routes */
	struct once_record record;
	struct once_strand *strand;
	unsigned
		attempt; /* 1 at first; of a strand's first: its attempts + 1 */
	unsigned crashes; /* 0, or what once_session_brace() has set */
	int parked;       /* it is a row of once.parked */

	/* in and out: PENDING_ENDING at first */
	enum once_ending ending;

	/* out */
	struct once_bytes msg_id; /* until the session's next run */
	struct once_bytes biz_id;
	enum once_cause cause;
	enum once_key_kind key_kind; /* of a duplicate or conflict */
	enum once_stage stage;       /* likewise */
	unsigned unproven;           /* a bit (1 << stage) for each prefilter
					whose hit proved nothing */
	int64_t handler_ns;          /* in handle() or duplicate(), all calls */
	char sqlstate[6];
	char reason[ONCE_REASON_SIZE]; /* "" unless there is something to say */
};

struct once_run_stats {
	unsigned committed;
	unsigned rolled_back;
	unsigned repeated; /* of those, for a deadlock or the like */

	/* Where the time went, all tries included. What is none of these
	 * (connecting, planning, rollbacks, pauses before a repetition) is the
	 * rest of what the run took. */
	int64_t keys_ns;      /* templates and fingerprints */
	int64_t prefilter_ns; /* asked, their hits proved, and told */
	int64_t claim_ns;     /* claims and look-ups, until answered */
	int64_t handler_ns;   /* from the first call until all that was sent is
				 answered, positions included */
	int64_t commit_ns;    /* COMMIT, until answered */
};

/*
 * Make ready what is going to be run next, as far as that doesn't need the
 * database: keys, and what the prefilters know. The run of the same items uses
 * it, that of others forgets it. Until then the items stay as they are, but for
 * their strands, which may move on to them.
 *
 * For once_meanwhile_f, or between runs. Errors: BUG, TRANSIENT (Redis, which
 * is to be waited for): nothing is ready, and the run will say it again.
 */
ONCE_API enum once_status once_session_prepare(
	struct once_session *session, struct once_item *items, size_t count,
	struct once_error *err) ONCE_MUST_CHECK;

/*
 * Run what is PENDING among the items, in order, in as few transactions as that
 * takes. Items of a strand are in the order of their offsets.
 *
 * A message that fails is taken out and the rest committed without it; later
 * ones of its strand are HELD. Ended items stay ended whatever is returned.
 *
 * With `max_time_ms` or `hurry` it may return OK before all is done: the first
 * items, at least one, are as after any run, and the others are still PENDING.
 * Run them again.
 *
 * Errors: TRANSIENT (the session is lost or the server refuses work: connect
 * and run again), UNKNOWN (settle it), FENCED (read the position again),
 * CONFIG, DENIED, BUG: what isn't ended is rolled back and stays as it was.
 */
ONCE_API enum once_status once_session_run(
	struct once_session *session, struct once_item *items, size_t count,
	struct once_run_stats *ret_stats,
	struct once_error *err) ONCE_MUST_CHECK;

/* After UNKNOWN, and with the same items: ask the database whether that COMMIT
 * took effect. OK: items and strands stand as the database says (handled, or
 * pending again). TRANSIENT: ask again later. */
ONCE_API enum once_status once_session_settle(
	struct once_session *session, struct once_item *items, size_t count,
	struct once_error *err) ONCE_MUST_CHECK;

/* Before a message is run alone that may have killed a process: write down that
 * it is in this one's hands. Sets item->crashes, to how many processes have
 * left it behind so. Needs an instance. */
ONCE_API enum once_status once_session_brace(
	struct once_session *session, struct once_item *item,
	struct once_error *err) ONCE_MUST_CHECK;

/* Take up one parked message whose time has come, and run it through the same
 * claim. Its ending is PENDING if there was none (then `ret_due_ms` says in how
 * many ms there will be one; -1: not known of), or if another session was
 * faster. The item lives until the session's next call. */
ONCE_API enum once_status once_session_run_waiting(
	struct once_session *session, struct once_item *ret_item,
	struct once_run_stats *ret_stats, int64_t *ret_due_ms,
	struct once_error *err) ONCE_MUST_CHECK;

ONCE_API int once_ending_is_final(enum once_ending ending);
ONCE_API const char *once_ending_word(enum once_ending ending);
ONCE_API const char *once_cause_word(enum once_cause cause);
ONCE_API const char *once_key_kind_word(enum once_key_kind kind);
ONCE_API const char *once_stage_word(enum once_stage stage);

/* ---- positions ---- */

/* What the last ended message of a strand looked like. Another message at that
 * offset means another log: a topic that was made again, or cut. */
struct once_anchor {
	int64_t offset; /* -1: none is known */
	int64_t time_ms;
	unsigned char hash[16]; /* of key and value */
};

/* Threads: any. */
ONCE_API void once_anchor_of(const struct once_record *record,
			     struct once_anchor *ret_anchor);
ONCE_API int once_anchors_equal(const struct once_anchor *a,
				const struct once_anchor *b);

#define ONCE_LOG_ID_SIZE 40

struct once_position {
	int64_t next_offset; /* -1: no row */
	unsigned attempts;   /* of the message that is next */
	int topic_known;     /* the group has a row for the topic */
	int crashed;         /* who took it last has died on the way */
	int64_t tenure;      /* 0: only read, or no row */
	struct once_anchor anchor;
	int32_t log_generation;        /* of its records */
	char log_id[ONCE_LOG_ID_SIZE]; /* once_session_name_log(); "": none */
	int disowned; /* who read it last has seen another log there */
};

ONCE_API enum once_status once_session_read_position(
	struct once_session *session, const char *group, const char *topic,
	int32_t partition, struct once_position *ret_position,
	struct once_error *err) ONCE_MUST_CHECK;

/* The same, and write down that this instance reads it from now on: a tenure
 * begins, and the one before it ends. */
ONCE_API enum once_status once_session_take_position(
	struct once_session *session, const char *group, const char *topic,
	int32_t partition, struct once_position *ret_position,
	struct once_error *err) ONCE_MUST_CHECK;

/* Rows for the partitions 0 to count-1 where `offsets` isn't negative; a row
 * that exists stays. */
ONCE_API enum once_status once_session_create_positions(
	struct once_session *session, const char *group, const char *topic,
	const int64_t *offsets, size_t count,
	struct once_error *err) ONCE_MUST_CHECK;

/* The log that it stands in isn't the one that it was in: give it an anchor
 * that no message has, for whoever takes it next. Nothing, if it isn't at
 * `offset`.
 */
ONCE_API enum once_status once_session_disown_log(
	struct once_session *session, const char *group, const char *topic,
	int32_t partition, int64_t offset,
	struct once_error *err) ONCE_MUST_CHECK;

/* Write down the name by which its source tells the log from others (Kafka: the
 * topic's id), if it has none. A seek takes it away. */
ONCE_API enum once_status once_session_name_log(
	struct once_session *session, const char *group, const char *topic,
	int32_t partition, const char *log_id,
	struct once_error *err) ONCE_MUST_CHECK;

/* Told of each row that the group has for a topic, by partition. */
typedef void once_position_f(void *arg, int32_t partition,
			     const struct once_position *position);

ONCE_API enum once_status once_read_positions(
	const char *conninfo, const char *group, const char *topic,
	once_position_f *told, void *arg,
	struct once_error *err) ONCE_MUST_CHECK;

/* What a person does while nobody of the group runs. */
struct once_seek_options {
	const char *conninfo;
	const char *group;
	const char *topic;
	const int64_t *offsets; /* by partition; -1: it stays */
	size_t count;
	/* By partition: is another log there than the one that the position was
	 * of? Then its generation rises, as it does for a disowned one. NULL:
	 * nowhere. */
	const unsigned char *another_log;
	const char *person;  /* for the audit: who, */
	const char *subject; /* and what of */
	int dry_run;         /* only tell */
};

/* `from`: -1, there was no row. NULL: nobody wants to know. */
typedef void once_seek_f(void *arg, int32_t partition, int64_t from,
			 int64_t to);

/* Make the positions stand at `offsets`, with no attempts and no anchor, and
 * write that down. FENCED: a process of the group is alive. */
ONCE_API enum once_status once_seek(const struct once_seek_options *options,
				    once_seek_f *told, void *arg,
				    struct once_error *err) ONCE_MUST_CHECK;

/* ---- looking at it ---- */

/* Told row by row what the database says of a group. `section` is "position",
 * "parked" or "log"; names and values are text, and end with the call. */
typedef void once_overview_f(void *arg, const char *section,
			     const char *const *names,
			     const char *const *values, size_t count);

ONCE_API enum once_status once_overview(const char *conninfo, const char *group,
					once_overview_f *told, void *arg,
					struct once_error *err) ONCE_MUST_CHECK;

/* ---- the schema ---- */

/* Told of each migration: `applied` 0 = was there before, 1 = just now, or
 * would be now (`sql` says how). */
typedef void once_migration_f(void *arg, int version, const char *name,
			      int applied, const char *sql);

/* Bring schema `once` up to the newest version this library knows. Safe from
 * many processes at once. `dry_run`: only tell. */
ONCE_API enum once_status once_migrate(const char *conninfo, int dry_run,
				       once_migration_f *told, void *arg,
				       struct once_error *err) ONCE_MUST_CHECK;

/* Is the schema one this library runs on? CONFIG names the versions, or the
 * tables that are published and can't be written. */
ONCE_API enum once_status once_schema_check(
	const char *conninfo, struct once_error *err) ONCE_MUST_CHECK;
/* Does each connection to it have a session of its own? CONFIG: a pooler in
 * transaction mode is in between. OK also where it can't be reached. Takes two
 * connections for a moment. */
ONCE_API enum once_status once_pooler_check(
	const char *conninfo, struct once_error *err) ONCE_MUST_CHECK;
/* Both, before a program starts, with one try to connect. TRANSIENT: it can't
 * be reached, or is locked. */
ONCE_API enum once_status once_database_check(
	const char *conninfo, struct once_error *err) ONCE_MUST_CHECK;
/* Would libpq take it? CONFIG: no, and no server was asked; the text holds none
 * of its values. The PG* variables of the environment are looked at, too. */
ONCE_API enum once_status once_conninfo_check(
	const char *conninfo, struct once_error *err) ONCE_MUST_CHECK;
/* Would a session with it go to another machine without a proof of whose that
 * is (sslmode=verify-full)? `ret_sslmode`: what it says, "" if nothing. Asks
 * nobody. */
ONCE_API int once_conninfo_is_exposed(const char *conninfo, char *ret_sslmode,
				      size_t size);

/* Has another process of the instance's group ended uncleanly: within a day, or
 * so that nobody has taken up its partitions since? To be asked before the
 * instance has a session. */
ONCE_API enum once_status once_group_has_crashed(
	const char *conninfo, const struct once_instance *instance,
	int *ret_crashed, struct once_error *err) ONCE_MUST_CHECK;
ONCE_API int once_schema_version(void); /* the newest this library knows */

ONCE_API const char *once_version(void);
ONCE_API int once_libpq_version(void);

#ifdef __cplusplus
}
#endif

#endif
