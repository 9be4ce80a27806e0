# A thin front: everything is done by scripts/, CMake and ctest.
#
#	make demo     see it work (installs what the build needs, first)
#	make test     all tests, as CI runs them; with RDKAFKA=newest once, on a
#	              newer librdkafka than Debian's
#	make build    build/release
#	make bench    how fast it is beside what else there is (bench/README.md)
#	make fuzz SECONDS=60    run each fuzz target for a minute
#	make bench-instructions    what a message costs, without a clock
#
# ONCE_TEST_KAFKA (bootstrap servers), ONCE_TEST_PG (conninfo) and
# ONCE_TEST_REDIS (URL) let your own servers stand in for the throwaway ones.

release = build/release

SECONDS = 60

.PHONY: deps build demo test fuzz bench bench-instructions format tidy clean

deps:
	scripts/deps test
	scripts/kafka-jars

build:
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release

demo:
	scripts/deps build
	$(MAKE) build
	$(release)/consumer/onced demo

test: deps
	scripts/test $(RDKAFKA)

fuzz:
	scripts/deps test
	scripts/fuzz $(SECONDS)

bench: deps
	cmake --preset bench --log-level=NOTICE
	cmake --build --preset bench
	ONCE_BENCH_JSON=$${ONCE_BENCH_JSON:-build/bench/results.json} \
		build/bench/tests/once-test-servers with pg,kafka \
		build/bench/bench/once-bench

bench-instructions:
	scripts/deps bench
	cmake --preset bench --log-level=NOTICE
	cmake --build --preset bench --target instructions
	build/bench/tests/once-test-servers with pg bench/instructions.sh \
		build/bench/bench/instructions bench/instructions.txt \
		build/bench/bench

format:
	git ls-files '*.[ch]' | xargs clang-format -i

tidy:
	cmake --preset debug --log-level=NOTICE
	git ls-files 'lib/*.c' 'consumer/*.c' | \
		xargs clang-tidy -p build/debug --quiet

clean:
	rm -rf build
