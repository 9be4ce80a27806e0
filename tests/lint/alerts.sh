#!/bin/sh
# alerts.sh ROOT: Prometheus itself reads our alerts, and each of them fires when
# it should (tests/prometheus/alerts.yml).
set -eu
cd "$1"

if ! command -v promtool >/dev/null; then
	echo "there is no promtool (Debian: prometheus)"
	[ -n "${CI:-}${ONCE_TEST_NO_SKIP:-}" ] && exit 1
	exit 77
fi
promtool check rules config/alerts.yml
promtool test rules tests/prometheus/alerts.yml

# Each alert is once expected, and once not.
failed=0
for alert in $(sed -n 's/^ *- alert: *//p' config/alerts.yml); do
	tests=tests/prometheus/alerts.yml
	if ! grep -q "alertname: $alert\$" $tests ||
		! grep -q "alertname: $alert, exp_alerts: \[\]" $tests; then
		echo "$alert: $tests doesn't say when it fires and when it doesn't"
		failed=1
	fi
done
exit $failed
