import assert from "node:assert/strict";
import { test } from "node:test";
import { exponentialBuckets, MetricsRegistry } from "./registry.ts";

test("metrics are written in the text format of Prometheus", () => {
  const registry = new MetricsRegistry();
  const requests = registry.counter("requests_total", "Requests.", ["code", "path"]);
  registry.counter("starts_total", "Starts.");
  const seconds = registry.histogram("seconds", "Durations.", exponentialBuckets(0.1, 2, 2), ["verb"]);
  registry.gauge("open", "Open.", ["kind"], () => [[["a"], 2]]);
  requests.add(["200", 'a"b\\c\nd']);
  requests.add(["200", 'a"b\\c\nd'], 2);
  for (const value of [0.1, 0.15, 5]) seconds.observe(value, ["get"]);
  assert.equal(
    registry.text(),
    [
      "# HELP requests_total Requests.",
      "# TYPE requests_total counter",
      'requests_total{code="200",path="a\\"b\\\\c\\nd"} 3',
      "# HELP starts_total Starts.",
      "# TYPE starts_total counter",
      "starts_total 0",
      "# HELP seconds Durations.",
      "# TYPE seconds histogram",
      'seconds_bucket{verb="get",le="0.1"} 1',
      'seconds_bucket{verb="get",le="0.2"} 2',
      'seconds_bucket{verb="get",le="+Inf"} 3',
      'seconds_sum{verb="get"} 5.25',
      'seconds_count{verb="get"} 3',
      "# HELP open Open.",
      "# TYPE open gauge",
      'open{kind="a"} 2',
      "",
    ].join("\n"),
  );
});
