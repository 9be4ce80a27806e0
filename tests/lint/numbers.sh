#!/bin/sh
# numbers.sh ROOT: consumer/numbers/metric_families.h is the table of what onced
# counts. Alerts, dashboard and docs name what is there, docs/operating.md tells
# of all of it, and of each alert.
set -eu
cd "$1"
table=consumer/numbers/metric_families.h
manual=docs/operating.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fault() {
	echo "$1"
	failed=1
}

# As they stand on the page: "name TYPE".
tr '\n\\' '  ' <$table | grep -oE 'X\([A-Z_]+, "(onced|process)_[a-z_]+", [A-Z]+' |
	sed -E 's/.*"(.*)", ([A-Z]+)/\1 \2/; s/ COUNTER$/_total COUNTER/' \
		>"$work/families"
if [ ! -s "$work/families" ]; then
	echo "no metric found in $table"
	exit 1
fi
cut -d ' ' -f 1 "$work/families" | sort >"$work/names"
sed -nE 's/^(.*) HISTOGRAM$/\1_bucket\n\1_sum\n\1_count/p' "$work/families" |
	sort - "$work/names" >"$work/series"

# ---- what they name is there ----

# Of words like "job:onced_backstop:share15m", which a rule records, nothing.
names_in() {
	grep -oE '[a-zA-Z0-9_:]*(onced|process)_[a-zA-Z0-9_:]+' "$1" | grep -v : |
		grep -E '^(onced|process)_' | sort -u
}

for file in config/alerts.yml config/grafana.json tests/prometheus/alerts.yml \
	docs/*.md README.md; do
	for name in $(names_in "$file"); do
		case $name in
		onced_operator) ;; # a database role
		*)
			grep -qx "$name" "$work/series" ||
				fault "$file: there is no $name in $table"
			;;
		esac
	done
done
for name in $(grep -ohE '[a-z_]+:onced_[a-z0-9_:]+' config/alerts.yml \
	config/grafana.json | sort -u); do
	grep -q "record: $name\$" config/alerts.yml ||
		fault "no rule of config/alerts.yml records $name"
done

# ---- the manual tells of all ----

while read -r name; do
	grep -qE "^\| (\`[a-z_]+\`, )?\`$name\`(, \`[a-z_]+\`)? \|" $manual ||
		fault "$manual: no line of the table \"Metrics\" is about $name"
done <"$work/names"

alerts=$(sed -n 's/^ *- alert: *//p' config/alerts.yml)
for alert in $alerts; do
	anchor=$manual#$(echo "$alert" | tr 'A-Z' 'a-z')
	grep -qx "### $alert" $manual ||
		fault "$manual: there is no section \"### $alert\""
	grep -A 20 -e "- alert: $alert\$" config/alerts.yml |
		grep -m 1 'runbook:' | grep -q "runbook: $anchor\$" ||
		fault "config/alerts.yml: the runbook of $alert isn't $anchor"
done
for section in $(sed -n 's/^### \(Onced[A-Za-z]*\)$/\1/p' $manual); do
	echo "$alerts" | grep -qx "$section" ||
		fault "$manual: there is no alert $section"
done
exit $failed
