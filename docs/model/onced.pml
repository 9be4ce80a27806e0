/*
 * onced.pml - onced among its servers: a source and its lanes in each process,
 * one database, one broker. For spin; README.md says what the parts stand for.
 *
 * The idea to hold: a process has no state but the global arrays below, and
 * each of its steps is one guarded atomic command. So a death is one more step,
 * which empties its rows of the arrays.
 *
 * Sizes, faults and mutations are macros; scripts/model has those that are run.
 */

/* ---- sizes ---- */

#ifndef PROCS
#define PROCS 2
#endif
#ifndef LANES
#define LANES 1 /* in each process */
#endif
#ifndef N
#define N 2 /* messages in partition 0 */
#endif
#ifndef N1
#define N1 N /* and in partition 1: at most as many */
#endif

/* ---- faults: how many of each ---- */

#ifndef REBALANCES
#define REBALANCES 0 /* without a reason of our own */
#endif
#ifndef INCREMENTAL
#define INCREMENTAL 0 /* revokes of one partition; no others then */
#endif
#ifndef KICKS
#define KICKS 0 /* a member is thrown out, and learns it later */
#endif
#ifndef SLOW
#define SLOW 0 /* revokes that don't wait for a slow handler */
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef CUTS
#define CUTS 0 /* of a database session */
#endif
#ifndef FAILOVERS
#define FAILOVERS 0 /* to a standby that lacks the last transactions */
#endif
#ifndef ORPHANS
#define ORPHANS 1 /* COMMITs on their way whose session is gone */
#endif

/* ---- keys ----
 *
 * Message i of partition p is bit p*N+i of a mask. Message 0 of the partitions
 * is the same operation under two msg_ids, message 1 is the same message sent
 * twice, all others are by themselves. */

#define SHARED 3
#define END(p) ((p) == 0 -> N : N1)
#define ALL (BELOW(0, N) | BELOW(1, N1))
#define BELOW(p, k) (((1 << (k)) - 1) << ((p) * N))
#define SPAN(p, a, b) (BELOW(p, b) & ~BELOW(p, a))
#define MSG_IDS(x) (((x) & ~(2 << N)) | (((x) & (2 << N)) >> N))
#define BIZ_IDS(x) (((x) & ~(SHARED << N)) | (((x) >> N) & SHARED))
/* The mask and all that shares a key with a message of it. */
#define RIVALS(x) ((x) | (((x) >> N) & SHARED) | (((x) & SHARED) << N))

/* ---- database ---- */

#define NL (PROCS * LANES)
#define NT (NL + ORPHANS)
#define NO_ROW 15

mtype = { NO_TX, CLAIMED, COMMITTING, DOUBT };

/* What a transaction did, and for a lane what it was meant to do. */
typedef transaction {
	mtype state = NO_TX;
	byte batch;   /* messages it ends */
	byte claimed; /* those of them that were new: they have effects */
	byte from[2]; /* of each partition's position; equal to `upto`: stays */
	byte upto[2]
};

transaction tx[NT]; /* of each lane, and behind them the orphans */
byte position[2];
byte claims; /* committed: messages whose keys are in the log */
byte done_msgs;
byte done_bizs; /* effects, by msg_id and by biz_id */
byte ended;     /* messages that a committed transaction has ended */

#if FAILOVERS
bool lagging; /* the standby has what is kept here */
bool cut_off[NL]; /* its session is another one now */
byte old_position[2];
byte old_claims;
byte old_done_msgs;
byte old_done_bizs;
byte old_ended;
#endif

/* ---- broker ---- */

mtype = { OUT, IN, JOINING }; /* a member */

mtype member[PROCS] = JOINING;
byte given[PROCS]; /* partitions, as the broker sees it */
bool lost[PROCS];  /* and the source hasn't noticed yet */
byte kafka[2];     /* committed offsets */

/* ---- source: by process and partition ---- */

#define AT(pr, p) ((pr) * 2 + (p))

mtype = { IDLE, OPENING, RUNNING, DROPPING };

mtype state[PROCS * 2] = IDLE;
byte epoch[PROCS * 2];
bool queue[PROCS * 2];   /* it is ours: between assign and close */
bool reading[PROCS * 2]; /* librdkafka has it assigned */
bool busy[PROCS * 2];
byte fetch_next[PROCS * 2];
byte handled_next[PROCS * 2];
byte lane_of[PROCS * 2];
bool waiting[PROCS]; /* in a revoke, for lanes to let go */
#if INCREMENTAL
byte going[PROCS]; /* partitions of that revoke; 0: all */
#endif

/* ---- lanes: by lane and partition ---- */

byte strand[NL * 2]; /* the epoch; 0: none */
byte strand_next[NL * 2]; /* beyond `at`: in a run, and not said yet */
byte at[NL * 2]; /* the parcel's first message not ended */
byte till[NL * 2]; /* and its end; equal: no parcel */
byte opening[NL * 2]; /* the epoch; 0: none */
#ifdef RANGES
bool running[NL]; /* a batch, of which a transaction is committed */
#define IS_RUNNING(me) running[me]
#define STEP atomic /* it chooses */
#else
#define IS_RUNNING(me) false
#define STEP d_step
#endif
byte creating[NL * 2]; /* the offset to create the row with; NO_ROW: don't */

/* ---- mail ---- */

mtype = { OPEN, CREATE, HANDLE, DROP };
mtype = { OPENED, HANDLED, LOST, DROPPED };

/* kind, partition, epoch, and offsets or a flag */
chan orders[NL] = [8] of { mtype, byte, byte, byte, byte };
chan reports[PROCS] = [8] of { mtype, byte, byte, byte, bool };

/* ---- what is left of the faults ---- */

byte rebalances = REBALANCES;
#if INCREMENTAL
byte incremental = INCREMENTAL;
#endif
byte kicks = KICKS;
byte slow = SLOW;
byte deaths = DEATHS;
byte cuts = CUTS;
byte failovers = FAILOVERS;

/* ================= the database ================= */

inline check_ended(p)
{
	/* 1a: no position ahead of a message that hasn't ended */
	assert((ended & BELOW(p, position[p])) == BELOW(p, position[p]))
}

inline check_reported(p)
{
#if !FAILOVERS
	/* 1b: Kafka's committed offset is never ahead of the position */
	assert(kafka[p] <= position[p])
#else
	skip
#endif
}

inline move_row(t, p)
{
	if
	:: tx[t].from[p] != tx[t].upto[p] ->
		/* 1c: a position never goes back */
		assert(tx[t].upto[p] >= position[p]);
		position[p] = tx[t].upto[p];
		check_ended(p);
		check_reported(p)
	:: else
	fi
}

inline forget_tx(t)
{
	tx[t].state = NO_TX;
	tx[t].batch = 0;
	tx[t].claimed = 0;
	tx[t].from[0] = 0;
	tx[t].from[1] = 0;
	tx[t].upto[0] = 0;
	tx[t].upto[1] = 0
}

#define NEW0(t) (tx[t].claimed & BELOW(0, N))
#define NEW1(t) (tx[t].claimed & BELOW(1, N))

/* The server carries out the COMMIT. */
inline carry_out(t)
{
#if FAILOVERS
	if
	:: !lagging && failovers > 0 ->
		lagging = true;
		old_position[0] = position[0];
		old_position[1] = position[1];
		old_claims = claims;
		old_done_msgs = done_msgs;
		old_done_bizs = done_bizs;
		old_ended = ended
	:: true /* it reaches the standby, or isn't the first that doesn't */
	fi;
#endif
	/* 2: each effect at most once, by msg_id and by biz_id */
	assert((MSG_IDS(tx[t].claimed) & done_msgs) == 0);
	assert((BIZ_IDS(tx[t].claimed) & done_bizs) == 0);
	assert((BIZ_IDS(NEW0(t)) & BIZ_IDS(NEW1(t))) == 0);
	done_msgs = done_msgs | MSG_IDS(tx[t].claimed);
	done_bizs = done_bizs | BIZ_IDS(tx[t].claimed);
	claims = claims | tx[t].claimed;
	ended = ended | tx[t].batch;
	move_row(t, 0);
	move_row(t, 1)
}

#define IS_OPEN(t) (tx[t].state == CLAIMED || tx[t].state == COMMITTING)
#define HOLDS(t, me) (((t) != (me) && IS_OPEN(t)) -> tx[t].claimed : 0)
#define LOCKS(t, me, p) ((t) != (me) && tx[t].state == COMMITTING && \
			 tx[t].from[p] != tx[t].upto[p])

/* Claims that aren't committed: whoever wants such a key waits. And rows that
 * an UPDATE has moved: whoever wants to move them waits. */
#if NT == 2
#define HELD(me) (HOLDS(0, me) | HOLDS(1, me))
#define LOCKED(me, p) (LOCKS(0, me, p) || LOCKS(1, me, p))
#elif NT == 3
#define HELD(me) (HOLDS(0, me) | HOLDS(1, me) | HOLDS(2, me))
#define LOCKED(me, p) \
	(LOCKS(0, me, p) || LOCKS(1, me, p) || LOCKS(2, me, p))
#elif NT == 5
#define HELD(me) (HOLDS(0, me) | HOLDS(1, me) | HOLDS(2, me) | \
		  HOLDS(3, me) | HOLDS(4, me))
#define LOCKED(me, p) (LOCKS(0, me, p) || LOCKS(1, me, p) || \
	LOCKS(2, me, p) || LOCKS(3, me, p) || LOCKS(4, me, p))
#endif

/* A COMMIT that was sent outlives its session, for as long as it likes. */
inline leave_orphan(t)
{
	if
	:: tx[NL].state == NO_TX ->
		tx[NL].state = COMMITTING;
		tx[NL].batch = tx[t].batch;
		tx[NL].claimed = tx[t].claimed;
		tx[NL].from[0] = tx[t].from[0];
		tx[NL].from[1] = tx[t].from[1];
		tx[NL].upto[0] = tx[t].upto[0];
		tx[NL].upto[1] = tx[t].upto[1]
	:: tx[NL].state != NO_TX ->
		carry_out(t)
	:: tx[NL].state != NO_TX
	fi
}

proctype Database()
{
end:	do
	:: atomic { tx[NL].state == COMMITTING ->
		if
		:: carry_out(NL)
		:: true /* it never got there */
		fi;
		forget_tx(NL)
	}
	od
}

/* ================= a lane ================= */

#define HAS_PARCEL(me, p) (at[AT(me, p)] != till[AT(me, p)])
/* What is pending of it. */
#define PARCEL(me, p) SPAN(p, FIRST(me, p), till[AT(me, p)])
#define FIRST(me, p) (strand_next[AT(me, p)] > at[AT(me, p)] -> \
		      strand_next[AT(me, p)] : at[AT(me, p)])
#define BATCH(me) (PARCEL(me, 0) | PARCEL(me, 1))
#define IS_OPENING(me) (opening[AT(me, 0)] != 0 || opening[AT(me, 1)] != 0)

inline report(me, what, q, since, next, with_parcel)
{
	assert(nfull(reports[(me) / LANES]));
	reports[(me) / LANES] ! what, q, since, next, with_parcel
}

inline forget_strand(me, p)
{
	strand[AT(me, p)] = 0;
	strand_next[AT(me, p)] = 0;
	at[AT(me, p)] = 0;
	till[AT(me, p)] = 0
}

/* How far its messages have ended, and the parcel if that is all of it. */
inline take_endings(me, p)
{
	if
	:: HAS_PARCEL(me, p) && strand_next[AT(me, p)] > at[AT(me, p)] ->
		report(me, HANDLED, p, strand[AT(me, p)],
		       strand_next[AT(me, p)],
		       strand_next[AT(me, p)] == till[AT(me, p)]);
		at[AT(me, p)] = strand_next[AT(me, p)];
		if
		:: at[AT(me, p)] == till[AT(me, p)] ->
			at[AT(me, p)] = 0;
			till[AT(me, p)] = 0
		:: else
		fi
	:: else
	fi
}

inline end_run(me)
{
	take_endings(me, 0);
	take_endings(me, 1);
#ifdef RANGES
	running[me] = false;
#endif
	forget_tx(me)
}

inline lose(me, p)
{
	if
	:: PARCEL(me, p) != 0 ->
		report(me, LOST, p, strand[AT(me, p)], 0, true);
		forget_strand(me, p)
	:: else
	fi
}

/* Whoever opens a partition of it next reads what became of it. */
inline forget_unsettled(me)
{
#ifdef NO_ENDINGS
	forget_tx(me);
#else
	end_run(me);
#endif
	lose(me, 0);
	lose(me, 1)
}

inline drop(me, p, ep)
{
	opening[AT(me, p)] = 0;
	creating[AT(me, p)] = NO_ROW;
	if
	:: tx[me].state == DOUBT -> forget_unsettled(me)
	:: else
	fi;
	if
	:: strand[AT(me, p)] == ep -> forget_strand(me, p)
	:: else
	fi;
	report(me, DROPPED, p, ep, 0, true)
}

inline obey(me)
{
	orders[me] ? kind, p, ep, a, b;
	if
	:: kind == OPEN ->
		opening[AT(me, p)] = ep
	:: kind == CREATE ->
		opening[AT(me, p)] = ep;
		creating[AT(me, p)] = a
	:: kind == HANDLE && strand[AT(me, p)] == ep ->
		at[AT(me, p)] = a;
		till[AT(me, p)] = b
	:: kind == HANDLE && strand[AT(me, p)] != ep ->
		report(me, LOST, p, ep, 0, true)
	:: kind == DROP ->
		drop(me, p, ep)
	fi;
	kind = 0; p = 0; ep = 0; a = 0; b = 0
}

inline open(me, p)
{
	if
	:: creating[AT(me, p)] != NO_ROW && position[p] == NO_ROW ->
		position[p] = creating[AT(me, p)];
		check_ended(p)
	:: else
	fi;
	creating[AT(me, p)] = NO_ROW;
	if
	:: position[p] != NO_ROW ->
		strand[AT(me, p)] = opening[AT(me, p)];
		strand_next[AT(me, p)] = position[p]
	:: else
	fi;
	report(me, OPENED, p, opening[AT(me, p)], position[p], false);
	opening[AT(me, p)] = 0
}

inline plan(me, p)
{
	if
	:: PARCEL(me, p) != 0 ->
		tx[me].from[p] = strand_next[AT(me, p)];
		tx[me].upto[p] = till[AT(me, p)]
	:: else
	fi
}

#define MOVES(me, p) (tx[me].from[p] != tx[me].upto[p])

#ifdef RANGES
#define TAKES(me, p) (tx[me].upto[p] - tx[me].from[p])

inline normalize(me, p)
{
	if
	:: !MOVES(me, p) ->
		tx[me].from[p] = 0;
		tx[me].upto[p] = 0
	:: else
	fi
}

/* All of the batch or any first part of each partition's: it was halved, was
 * more than a transaction may have, or is cut. */
inline choose_range(me)
{
	do
	:: MOVES(me, 0) && TAKES(me, 0) + TAKES(me, 1) > 1 -> tx[me].upto[0]--
	:: MOVES(me, 1) && TAKES(me, 0) + TAKES(me, 1) > 1 -> tx[me].upto[1]--
	:: true -> break
	od;
	normalize(me, 0);
	normalize(me, 1);
	running[me] = true
}

/* Perhaps its time is over, or somebody waits. */
inline go_on(me)
{
	forget_tx(me);
	if
	:: BATCH(me) != 0
	:: true -> end_run(me)
	fi
}
#else
inline go_on(me)
{
	end_run(me)
}
#endif

/* The first in order wins, in the log and in the batch. */
inline claim(me)
{
	tx[me].state = CLAIMED;
	plan(me, 0);
	plan(me, 1);
#ifdef RANGES
	choose_range(me);
#endif
	tx[me].batch = (PARCEL(me, 0) & BELOW(0, tx[me].upto[0])) |
		(PARCEL(me, 1) & BELOW(1, tx[me].upto[1]));
#ifdef NO_CLAIM
	tx[me].claimed = tx[me].batch;
#else
	tx[me].claimed = tx[me].batch & BELOW(0, N) & ~RIVALS(claims);
	tx[me].claimed = tx[me].claimed | (tx[me].batch & BELOW(1, N) &
		~RIVALS(claims) & ~RIVALS(tx[me].claimed))
#endif
}

#ifdef NO_FENCE
#define AGREES(me, p) true
#else
#define AGREES(me, p) (!MOVES(me, p) || position[p] == tx[me].from[p])
#endif

inline publish(me, p)
{
	if
	:: MOVES(me, p) -> strand_next[AT(me, p)] = tx[me].upto[p]
	:: else
	fi
}

#ifdef MARK_BEFORE_COMMIT
inline mark(me, p)
{
	if
	:: MOVES(me, p) ->
		report(me, HANDLED, p, strand[AT(me, p)], tx[me].upto[p], false)
	:: else
	fi
}
#endif

inline finish(me)
{
	if
	:: AGREES(me, 0) && AGREES(me, 1) ->
		tx[me].state = COMMITTING;
#ifdef MARK_BEFORE_COMMIT
		mark(me, 0);
		mark(me, 1)
#endif
	:: else ->
		end_run(me);
		lose(me, 0);
		lose(me, 1)
	fi
}

#define FOUND(me, p) (!MOVES(me, p) || position[p] == tx[me].upto[p])

inline settle(me)
{
	if
#ifdef UNKNOWN_IS_COMMITTED
	:: true ->
#else
	:: FOUND(me, 0) && FOUND(me, 1) ->
#endif
		publish(me, 0);
		publish(me, 1)
	:: else /* as before the transaction: what is pending comes again */
	fi;
	end_run(me)
}

/* The session is lost: nothing was committed, or nobody knows. */
inline cut(me)
{
	if
	:: tx[me].state == CLAIMED -> end_run(me)
	:: tx[me].state == COMMITTING ->
		leave_orphan(me);
		tx[me].state = DOUBT
	fi
}

#if FAILOVERS && !defined(NO_REREAD)
inline reread(me, p)
{
	if
	:: strand[AT(me, p)] != 0 && strand_next[AT(me, p)] != position[p] ->
		report(me, LOST, p, strand[AT(me, p)], 0, true);
		forget_strand(me, p)
	:: else
	fi
}

inline reread_all(me)
{
	cut_off[me] = false;
	reread(me, 0);
	reread(me, 1)
}
#endif

#define IS_IDLE(me) (tx[me].state == NO_TX && !IS_RUNNING(me))

proctype Lane(byte me)
{
	mtype kind;
	byte p, ep, a, b;

end:	do
	:: d_step { (IS_IDLE(me) || tx[me].state == DOUBT) &&
		    nempty(orders[me]) -> obey(me) }
	:: d_step { tx[me].state == DOUBT -> settle(me) }
	:: d_step { IS_IDLE(me) && opening[AT(me, 0)] != 0 -> open(me, 0) }
	:: d_step { IS_IDLE(me) && opening[AT(me, 1)] != 0 -> open(me, 1) }
	:: STEP { tx[me].state == NO_TX &&
		    (IS_RUNNING(me) || !IS_OPENING(me)) &&
		    BATCH(me) != 0 && (RIVALS(BATCH(me)) & HELD(me)) == 0 ->
		    claim(me) }
	:: d_step { tx[me].state == CLAIMED &&
		    !(MOVES(me, 0) && LOCKED(me, 0)) &&
		    !(MOVES(me, 1) && LOCKED(me, 1)) -> finish(me) }
	:: atomic { tx[me].state == COMMITTING ->
		    carry_out(me);
		    publish(me, 0);
		    publish(me, 1);
		    go_on(me) }
	:: atomic { cuts > 0 && IS_OPEN(me) -> cuts--; cut(me) }
#if FAILOVERS && !defined(NO_REREAD)
	:: d_step { IS_IDLE(me) && cut_off[me] -> reread_all(me) }
#endif
	od
}

/* ================= a source ================= */

inline order(me, q, what, first, end)
{
	assert(nfull(orders[lane_of[AT(me, q)]]));
	orders[lane_of[AT(me, q)]] ! what, q, epoch[AT(me, q)], first, end
}

#ifdef STORE_BEFORE_COMMIT
#define TO_STORE(me, p) fetch_next[AT(me, p)]
#else
#define TO_STORE(me, p) handled_next[AT(me, p)]
#endif
/* The broker looks at the member, not at what it owns. */
#define CAN_COMMIT(me, p) (member[me] == IN && reading[AT(me, p)] && \
			   TO_STORE(me, p) > kafka[p])

inline commit_offset(me, p)
{
	if
	:: CAN_COMMIT(me, p) ->
		kafka[p] = TO_STORE(me, p);
		check_reported(p)
	:: else
	fi
}

/* The earlier an offset is committed, the more it says too early. */
inline tell_at_once(me, q)
{
#ifdef AT_ONCE
	commit_offset(me, q)
#else
	skip
#endif
}

inline take_opened(me, q, next)
{
	if
	:: next == NO_ROW ->
		/* the group's own offset, or the topic's first one */
		order(me, q, CREATE, kafka[q], 0)
	:: else ->
		fetch_next[AT(me, q)] = next;
		handled_next[AT(me, q)] = next;
		state[AT(me, q)] = RUNNING;
		reading[AT(me, q)] = true;
		tell_at_once(me, q)
	fi
}

inline take_report(me, q)
{
	if
	:: kind == OPENED && state[AT(me, q)] == OPENING ->
		take_opened(me, q, a)
	:: kind == HANDLED ->
		handled_next[AT(me, q)] = a;
		busy[AT(me, q)] = busy[AT(me, q)] && !home;
		tell_at_once(me, q)
	:: kind == LOST ->
		busy[AT(me, q)] = false;
		if
		:: state[AT(me, q)] == RUNNING ->
			state[AT(me, q)] = OPENING;
			order(me, q, OPEN, 0, 0)
		:: else
		fi
	:: kind == DROPPED ->
		busy[AT(me, q)] = false;
		if
		:: state[AT(me, q)] == DROPPING -> state[AT(me, q)] = IDLE
		:: else
		fi
	:: else
	fi
}

inline take_reports(me)
{
	reports[me] ? kind, p, ep, a, home;
	if
#ifdef NO_EPOCH
	:: true ->
#else
	:: epoch[AT(me, p)] == ep ->
#endif
		take_report(me, p)
	:: else
	fi;
	kind = 0; p = 0; ep = 0; a = 0; home = false
}

#define CAN_PULL(me, p) (!waiting[me] && state[AT(me, p)] == RUNNING && \
			 !busy[AT(me, p)] && fetch_next[AT(me, p)] < END(p))

inline pull(me, q)
{
	a = fetch_next[AT(me, q)] + 1;
	do
	:: a < END(q) -> a++
	:: true -> break
	od;
	order(me, q, HANDLE, fetch_next[AT(me, q)], a);
	busy[AT(me, q)] = true;
	fetch_next[AT(me, q)] = a;
	a = 0
}

/* Asynchronous on a timer; a refused one is one that isn't made. */
#define TIMER_COMMITS(me, p) (!waiting[me] && state[AT(me, p)] == RUNNING && \
			      CAN_COMMIT(me, p))

inline commit_on_timer(me)
{
	commit_offset(me, 0);
	commit_offset(me, 1)
}

/* Epochs are only compared: when nothing speaks of the old ones, the count
 * begins again, which saves states. */
#define SPEAKS(l, q) (len(orders[l]) > 0 || strand[AT(l, q)] != 0 || \
		      opening[AT(l, q)] != 0)
#if LANES == 1
#define IS_SPOKEN_OF(me, q) (len(reports[me]) > 0 || SPEAKS(me, q))
#else
#define IS_SPOKEN_OF(me, q) (len(reports[me]) > 0 || \
	SPEAKS((me) * LANES, q) || SPEAKS((me) * LANES + 1, q))
#endif

inline take_partition(me, q)
{
	if
	:: given[me] & (1 << (q)) ->
		epoch[AT(me, q)] =
			(IS_SPOKEN_OF(me, q) -> epoch[AT(me, q)] + 1 : 1);
		queue[AT(me, q)] = true;
		state[AT(me, q)] = OPENING;
		if
		:: lane_of[AT(me, q)] = (me) * LANES
#if LANES > 1
		:: lane_of[AT(me, q)] = (me) * LANES + 1
#endif
		fi;
		order(me, q, OPEN, 0, 0)
	:: else
	fi
}

inline order_drop(me, q)
{
	if
	:: state[AT(me, q)] == OPENING || state[AT(me, q)] == RUNNING ->
		state[AT(me, q)] = DROPPING;
		order(me, q, DROP, 0, 0)
	:: else
	fi
}

inline close_partition(me, q)
{
	if
	:: queue[AT(me, q)] ->
		epoch[AT(me, q)] =
			(IS_SPOKEN_OF(me, q) -> epoch[AT(me, q)] + 1 : 0)
	:: else
	fi;
	forget_partition(me, q)
}

inline forget_partition(me, q)
{
	queue[AT(me, q)] = false;
	state[AT(me, q)] = IDLE;
	reading[AT(me, q)] = false;
	busy[AT(me, q)] = false;
	fetch_next[AT(me, q)] = 0;
	handled_next[AT(me, q)] = 0;
	lane_of[AT(me, q)] = 0
}

inline order_drops(me)
{
	order_drop(me, 0);
	order_drop(me, 1)
}

/* The synchronous one may be refused. */
inline give_partitions(me)
{
	if
	:: CAN_COMMIT(me, 0) || CAN_COMMIT(me, 1) -> commit_on_timer(me)
	:: true
	fi;
#if INCREMENTAL
	if
	:: going[me] != 0 -> leave_some(me)
	:: else -> leave(me)
	fi
#else
	leave(me)
#endif
}

#if INCREMENTAL
/* It stays a member, and the others go on. */
inline leave_some(me)
{
	if
	:: going[me] & 1 -> close_partition(me, 0)
	:: else -> close_partition(me, 1)
	fi;
	given[me] = given[me] & ~going[me];
	going[me] = 0
}
#endif

inline lose_partitions(me)
{
	lost[me] = false;
	order_drops(me);
	leave(me)
}

inline leave(me)
{
	close_partition(me, 0);
	close_partition(me, 1);
	given[me] = 0;
	member[me] = JOINING
}

#define IS_DROPPING(me) (state[AT(me, 0)] == DROPPING || \
			 state[AT(me, 1)] == DROPPING)

proctype Source(byte me)
{
	mtype kind;
	byte p, ep, a;
	bool home;

end:	do
	:: d_step { nempty(reports[me]) -> take_reports(me) }
	:: atomic { CAN_PULL(me, 0) -> pull(me, 0) }
	:: atomic { CAN_PULL(me, 1) -> pull(me, 1) }
	:: d_step { TIMER_COMMITS(me, 0) || TIMER_COMMITS(me, 1) ->
		    commit_on_timer(me) }
	:: atomic { waiting[me] && (!IS_DROPPING(me) || slow > 0) ->
		slow = (IS_DROPPING(me) -> slow - 1 : slow);
		waiting[me] = false;
		give_partitions(me)
	}
	:: d_step { lost[me] -> lose_partitions(me) }
	od
}

/* ================= the broker ================= */

#if PROCS == 1
#define ANY(what) (member[0] == what)
#define OWNED given[0]
#else
#define ANY(what) (member[0] == what || member[1] == what)
#define OWNED (given[0] | given[1])
#endif
#if INCREMENTAL
#define IS_UNBALANCED ANY(JOINING)
#else
#define IS_UNBALANCED (ANY(JOINING) || OWNED != 3)
#endif

inline choose_member(p)
{
	if
	:: member[0] == JOINING -> given[0] = given[0] | (1 << (p))
#if PROCS > 1
	:: member[1] == JOINING -> given[1] = given[1] | (1 << (p))
#endif
	fi
}

inline admit(pr)
{
	if
	:: member[pr] == JOINING ->
		member[pr] = IN;
		take_partition(pr, 0);
		take_partition(pr, 1)
	:: else
	fi
}

inline revoke(pr)
{
	waiting[pr] = true;
	order_drops(pr)
}

inline kick(pr)
{
	kicks--;
	given[pr] = 0;
	member[pr] = OUT;
	lost[pr] = !waiting[pr] /* one in a revoke isn't told */
}

#define IS_SETTLED(pr) (member[pr] == IN && !waiting[pr])

#if INCREMENTAL
inline revoke_one(pr, p)
{
	incremental--;
	waiting[pr] = true;
	going[pr] = 1 << (p);
	order_drop(pr, p)
}

/* What nobody has comes to one that has the other already. */
inline give_back(pr)
{
	if
	:: given[pr] & 1 ->
		given[pr] = 3;
		take_partition(pr, 1)
	:: else ->
		given[pr] = 3;
		take_partition(pr, 0)
	fi
}
#endif

proctype Broker()
{
end:	do
	:: d_step { IS_UNBALANCED && IS_SETTLED(0) -> revoke(0) }
	:: d_step { rebalances > 0 && IS_SETTLED(0) ->
		    rebalances--; revoke(0) }
	:: d_step { kicks > 0 && member[0] == IN -> kick(0) }
#if INCREMENTAL
	:: d_step { incremental > 0 && IS_SETTLED(0) && given[0] == 3 ->
		    revoke_one(0, 0) }
	:: d_step { incremental > 0 && IS_SETTLED(0) && given[0] == 3 ->
		    revoke_one(0, 1) }
	:: atomic { IS_SETTLED(0) && given[0] != 3 -> give_back(0) }
#endif
#if PROCS > 1
	:: d_step { IS_UNBALANCED && IS_SETTLED(1) -> revoke(1) }
	:: d_step { rebalances > 0 && IS_SETTLED(1) ->
		    rebalances--; revoke(1) }
	:: d_step { kicks > 0 && member[1] == IN -> kick(1) }
#endif
	:: atomic { ANY(JOINING) && !ANY(IN) ->
		choose_member(0);
		choose_member(1);
		admit(0);
#if PROCS > 1
		admit(1)
#endif
	}
	od
}

/* ================= deaths ================= */

inline empty_mail(pr, l)
{
	do
	:: nempty(orders[l]) -> orders[l] ? _, _, _, _, _
	:: empty(orders[l]) -> break
	od
}

inline kill_lane(l)
{
	if
	:: tx[l].state == COMMITTING -> leave_orphan(l)
	:: else
	fi;
	forget_tx(l);
#ifdef RANGES
	running[l] = false;
#endif
	forget_strand(l, 0);
	forget_strand(l, 1);
	opening[AT(l, 0)] = 0;
	opening[AT(l, 1)] = 0;
	creating[AT(l, 0)] = NO_ROW;
	creating[AT(l, 1)] = NO_ROW;
	empty_mail(0, l)
}

/* And start again. */
inline kill(pr)
{
	deaths--;
	kill_lane(pr * LANES);
#if LANES > 1
	kill_lane(pr * LANES + 1);
#endif
	do
	:: nempty(reports[pr]) -> reports[pr] ? _, _, _, _, _
	:: empty(reports[pr]) -> break
	od;
	forget_partition(pr, 0);
	forget_partition(pr, 1);
	epoch[AT(pr, 0)] = 0;
	epoch[AT(pr, 1)] = 0;
	waiting[pr] = false;
#if INCREMENTAL
	going[pr] = 0;
#endif
	lost[pr] = false;
	given[pr] = 0;
	member[pr] = JOINING
}

proctype Death()
{
end:	do
	:: atomic { deaths > 0 -> kill(0) }
#if PROCS > 1
	:: atomic { deaths > 0 -> kill(1) }
#endif
	od
}

#if FAILOVERS
inline fail_session(l)
{
#if FAILOVERS && !defined(NO_REREAD)
	cut_off[l] = true;
#endif
	if
	:: tx[l].state == CLAIMED -> forget_tx(l)
	:: tx[l].state == COMMITTING -> tx[l].state = DOUBT
	:: else
	fi
}

proctype Failover()
{
end:	do
	:: d_step { failovers > 0 && lagging ->
		failovers--;
		lagging = false;
		position[0] = old_position[0];
		position[1] = old_position[1];
		claims = old_claims;
		done_msgs = old_done_msgs;
		done_bizs = old_done_bizs;
		ended = old_ended;
		forget_tx(NL);
		fail_session(0);
#if NL > 1
		fail_session(1);
#endif
		old_position[0] = 0;
		old_position[1] = 0;
		old_claims = 0;
		old_done_msgs = 0;
		old_done_bizs = 0;
		old_ended = 0
	}
	od
}
#endif

/* ================= all of it ================= */

/* 3: when nothing can happen any more, every message has ended and Kafka has
 * been told. That something happens for ever is another check: there is no
 * cycle at all. */
proctype Rest()
{
	timeout -> assert(ended == ALL && position[0] == N &&
			  position[1] == N1 && kafka[0] == N && kafka[1] == N1)
}

init {
	atomic {
		byte l = 0;
		do
		:: l < NL * 2 -> creating[l] = NO_ROW; l++
		:: else -> break
		od;
#ifdef FRESH
		position[0] = NO_ROW;
		position[1] = NO_ROW;
#endif
		l = 0;
		do
		:: l < PROCS -> run Source(l); l++
		:: else -> break
		od;
		l = 0;
		do
		:: l < NL -> run Lane(l); l++
		:: else -> break
		od;
		l = 0;
		run Database();
		run Broker();
		run Death();
#if FAILOVERS
		run Failover();
#endif
		run Rest();
		/* which process is which makes no difference */
		given[0] = 1;
		if
		:: given[0] = 3
#if PROCS > 1
		:: given[1] = 2
#endif
		fi;
		admit(0);
#if PROCS > 1
		admit(1)
#endif
	}
}
