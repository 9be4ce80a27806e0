# onced with its example handlers.
#
#	docker build -t onced .
#	docker run -v ./onced.yaml:/etc/onced/onced.yaml:ro onced

FROM debian:12.12-slim AS build
WORKDIR /src
# What `make deps build` does for the build set; packages first, for the cache.
COPY scripts/deps scripts/deps
RUN scripts/deps build
COPY . .
RUN make build && cmake --install build/release --prefix /opt/onced

FROM debian:12.12-slim
RUN apt-get update -q \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends ca-certificates librdkafka1 libpq5 \
		libyaml-0-2 libmicrohttpd12 libxxhash0 libssl3 \
		libhiredis0.14 libcurl4 libjansson4 \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --system --uid 10001 --user-group --no-create-home \
		--shell /usr/sbin/nologin onced
COPY --from=build /opt/onced /usr/local
RUN ldconfig
USER onced
WORKDIR /etc/onced

# admin.listen's port; the host in it must reach 127.0.0.1.
ENV ONCED_ADMIN_PORT=9464
EXPOSE 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
	CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$ONCED_ADMIN_PORT && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ code _ <&3 && [ \"$code\" = 200 ]"]

# SIGTERM drains within shutdown_timeout; give `docker stop` more than that.
STOPSIGNAL SIGTERM
ENTRYPOINT ["onced"]
CMD ["run", "-c", "/etc/onced/onced.yaml"]
