#!/bin/sh
# instructions.sh PROGRAM REFERENCE DIRECTORY: PROGRAM's scenes under callgrind.
# Prints what a message costs, in instructions, beside the counts in REFERENCE;
# ours go to DIRECTORY/instructions.txt, for a new reference.
set -eu
program=$(realpath "$1")
reference=$2
work=$3/callgrind
counts=$3/instructions.txt
tab=$(printf '\t')

if ! command -v valgrind >/dev/null; then
	echo "there is no valgrind (scripts/deps bench)" >&2
	exit 69
fi
mkdir -p "$work"

# Of the file $1: all instructions, and those of the program itself, without
# libpq, libc and the like. The line behind calls= is the callee's.
count() {
	awk -v program="$program" '
		/^c?ob=/ {
			id = $0
			sub(/^c?ob=/, "", id)
			sub(/\).*/, ")", id)
			if (NF > 1) names[id] = $2
			if (/^ob=/) object = id
		}
		/^calls=/ { getline; next }
		/^[-+*0-9]/ && NF == 2 {
			all += $2
			if (names[object] == program) own += $2
		}
		END { printf "%.0f %.0f\n", all, own }' "$1"
}

# Of the file $1: "instructions<tab>function" of libonce, with all it calls. One
# with inlined code of another file stands there for each of the two, the whole
# of it first.
functions() {
	callgrind_annotate --inclusive=yes --threshold=100 --auto=no \
		--show-percs=no "$1" |
		sed -nE "s/^ *([0-9,]+) +[^ ]*\/lib\/[^ ]*:([a-z_]+)( \[.*)?$/\1$tab\2/p" |
		tr -d , | awk -F "$tab" '!seen[$2]++'
}

# What a message costs in each stage. A function that the compiler has put into
# its caller counts there.
by_stage() {
	awk -F "$tab" -v all="$2" -v messages="$3" '
		BEGIN {
			stage["once__route_keys"] = "keys"
			stage["once__batch_ask"] = "prefilter"
			stage["once__batch_prove"] = "prefilter"
			stage["once__batch_note"] = "prefilter"
			stage["once__batch_tell"] = "prefilter"
			stage["once__batch_find_duplicates"] = "claim"
			stage["once__batch_claim"] = "claim"
			stage["once__batch_handle"] = "handler"
			stage["once__batch_set_results"] = "commit"
			stage["once__positions_move"] = "commit"
			stage["once__pg_commit"] = "commit"
			order = "keys prefilter claim handler commit rest"
		}
		$2 in stage { sum[stage[$2]] += $1; all -= $1 }
		END {
			sum["rest"] = all
			count = split(order, names, " ")
			for (i = 1; i <= count; i++)
				printf "%10.0f  %s\n", sum[names[i]] / messages,
					names[i]
		}' "$1"
}

difference() {
	awk -v now="$1" -v before="$2" 'BEGIN {
		if (before == 0) print "-"
		else printf "%+.2f %%", 100 * (now - before) / before
	}'
}

before() {
	awk -v scene="$1" -v column="$2" '
		$1 == scene { found = $column }
		END { print found + 0 }' "$reference" 2>/dev/null || echo 0
}

cat >"$counts" <<END
# Instructions of a message: all, and without libraries. $(cc --version | head -n 1)
END
"$program" | while read -r scene messages; do
	out=$work/$scene.out
	echo "counting: $scene" >&2
	valgrind -q --tool=callgrind --toggle-collect=measure \
		--callgrind-out-file="$out" "$program" "$scene"
	functions "$out" >"$work/$scene.functions"
	count "$out" >"$work/$scene.counts"
	read -r all own <"$work/$scene.counts"
	echo "$scene $((all / messages)) $((own / messages))" >>"$counts"
	echo
	echo "$scene: by stage, and the functions that cost most, with all they call"
	by_stage "$work/$scene.functions" "$all" "$messages"
	echo
	head -n 15 "$work/$scene.functions" |
		awk -F "$tab" -v messages="$messages" '
			{ printf "%10.0f  %s\n", $1 / messages, $2 }'
done

printf '\n%-18s %10s %10s %10s %10s\n' \
	'a message costs' all 'reference:' 'our own' 'reference:'
grep -v '^#' "$counts" | while read -r scene all own; do
	printf '%-18s %10s %10s %10s %10s\n' "$scene" \
		"$all" "$(difference "$all" "$(before "$scene" 2)")" \
		"$own" "$(difference "$own" "$(before "$scene" 3)")"
done
printf '\nA new reference: cp %s %s\n' "$counts" "$reference"
