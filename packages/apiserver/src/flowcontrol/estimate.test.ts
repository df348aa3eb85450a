/** Upstream: apiserver/pkg/util/flowcontrol/request */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import type { ServedResource } from "../kinds/resources.ts";
import { requestInfo } from "../request/info.ts";
import type { Storage } from "../storage/storage.ts";
import { WorkEstimator } from "./estimate.ts";
import { PriorityLevel } from "./priority-level.ts";
import { WatchTracker } from "./watchers.ts";

const count = (watchers: WatchTracker, method: string, url: string, minimum = 1): number =>
  watchers.count(requestInfo(method, url), minimum);

test("a write counts the watches of its resource, its namespace and its object", () => {
  const watchers = new WatchTracker();
  const watch = (url: string): (() => void) => watchers.add(requestInfo("GET", `${url}?watch=1`));
  const ends = [
    watch("/api/v1/configmaps"),
    watch("/api/v1/namespaces/a/configmaps"),
    watch("/api/v1/namespaces/b/configmaps"),
    watchers.add(
      requestInfo("GET", "/api/v1/namespaces/a/configmaps?watch=1&fieldSelector=metadata.name%3Dm"),
    ),
  ];
  assert.equal(count(watchers, "POST", "/api/v1/namespaces/a/configmaps"), 2);
  assert.equal(count(watchers, "PUT", "/api/v1/namespaces/a/configmaps/m"), 3);
  assert.equal(count(watchers, "PUT", "/api/v1/namespaces/c/configmaps/m"), 1);
  assert.equal(count(watchers, "PUT", "/api/v1/namespaces/a/configmaps/m", 4), 0);
  assert.equal(count(watchers, "POST", "/api/v1/namespaces/a/secrets"), 0);
  for (const end of ends) end();
  assert.equal(count(watchers, "PUT", "/api/v1/namespaces/a/configmaps/m"), 0);
});

test("watches of the pods of a node are not counted for others", () => {
  const watchers = new WatchTracker();
  const url = "/api/v1/pods?watch=1";
  watchers.add(requestInfo("GET", `${url}&fieldSelector=spec.nodeName%3Dn`));
  assert.equal(count(watchers, "POST", "/api/v1/namespaces/a/pods"), 0);
  watchers.add(requestInfo("GET", `${url}&fieldSelector=spec.nodeName%3D`));
  watchers.add(requestInfo("GET", url));
  assert.equal(count(watchers, "POST", "/api/v1/namespaces/a/pods"), 2);
});

const limitResponse = { type: "Queue", queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 } };

/**
 * Returns an estimator of a server with this number of config maps of 10 kB, and a level with this number of
 * seats.
 */
function estimatorOf(objects: number, seats: number): { estimator: WorkEstimator; level: PriorityLevel } {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "m" },
    data: { a: "x".repeat(10_000) },
  };
  const cache = {
    prefix: "",
    size: objects,
    *range() {
      for (let index = 0; index < objects; index++) yield { object };
    },
  };
  const served = { stored: { resource: "configmaps" }, facts: {} } as ServedResource;
  const level = new PriorityLevel("l", systemClock);
  level.configure({
    metadata: { name: "l" },
    spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, limitResponse } },
  });
  level.divide(seats, 1);
  const storage = { cache: () => cache } as unknown as Storage;
  return { estimator: new WorkEstimator(storage, systemClock, () => served), level };
}

test("a list takes a seat for each 100 kB, up to the limit of its level", () => {
  const seats = (url: string, objects: number, of = 600): number => {
    const { estimator, level } = estimatorOf(objects, of);
    return estimator.estimate(requestInfo("GET", url), level).initialSeats;
  };
  const url = "/api/v1/configmaps";
  assert.equal(seats(url, 5), 1);
  assert.equal(seats(url, 35), 4);
  assert.equal(seats(`${url}?limit=10`, 35), 2);
  assert.equal(seats(url, 5000), 10, "a list out of the cache has at most 1 MB in memory");
  assert.equal(seats(url, 5000, 20), 3, "15 % of the level's seats");
  assert.equal(seats("/api/v1/namespaces/a/configmaps/m", 5000), 1);
  assert.equal(seats(`${url}?fieldSelector=metadata.name%3Dm`, 5000), 1);
  assert.equal(seats(`${url}?watch=1`, 35), 4, "it sends all objects first");
  assert.equal(seats(`${url}?watch=1&resourceVersion=7`, 35), 1);
});

test("a write with many watches holds seats while they are notified", () => {
  const { estimator, level } = estimatorOf(1, 600);
  const write = requestInfo("POST", "/api/v1/namespaces/a/configmaps");
  const watch = requestInfo("GET", "/api/v1/configmaps?watch=1");
  for (let index = 0; index < 9; index++) estimator.watchers.add(watch);
  assert.deepEqual(estimator.estimate(write, level), { initialSeats: 1, finalSeats: 0, latency: 0 });
  for (let index = 0; index < 16; index++) estimator.watchers.add(watch);
  assert.deepEqual(estimator.estimate(write, level), { initialSeats: 1, finalSeats: 3, latency: 5 });
  for (let index = 0; index < 375; index++) estimator.watchers.add(watch);
  assert.deepEqual(estimator.estimate(write, level), { initialSeats: 1, finalSeats: 10, latency: 20 });
});
