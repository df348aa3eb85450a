import assert from "node:assert/strict";
import { get } from "node:http";
import { after, beforeEach, test } from "node:test";
import { unixChannel } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1 } from "@dray/rpc/dra/v1beta1";
import { eventually } from "@dray/testing/eventually";
import { type ClaimOperation, type NodeAPI, type RunOptions, runDriver } from "../index.ts";
import { driverName, type Fixture, fixture, getInfo, nodeName, notify } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

test("metrics count claims, their time, errors, what is prepared and what is published", async () => {
  let address = "";
  let published = 0;
  await node.start(
    {
      ...lamps,
      async prepare(claim, signal) {
        if (claim.name === "bad") throw new Error("no light");
        return lamps.prepare(claim, signal);
      },
    },
    {
      metrics: {
        host: "127.0.0.1",
        port: 0,
        onListening: (at) => {
          address = at;
        },
      },
      onPublished: () => void published++,
    },
  );
  await eventually("slices", () => published > 0);
  const ask = async (path: string, method = "GET") => fetch(`http://${address}${path}`, { method });
  const samples = async () =>
    new Map(
      (await (await ask("/metrics")).text())
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line): [string, number] => {
          const space = line.lastIndexOf(" ");
          return [line.slice(0, space), Number(line.slice(space + 1))];
        }),
    );
  const of = (name: string, labels: string) => `${name}{driver="${driverName}"${labels}}`;
  const prepares = of("dra_requests_total", ',operation="prepare"');
  assert.equal((await samples()).get(prepares), 0, "there from the start");
  assert.equal((await samples()).get(of("dra_registered", `,node="${nodeName}"`)), 0);

  await notify(node.paths.registration, true);
  const claims = [node.claim("good", [{}, { device: "lamp-1" }]), node.claim("bad", [{ device: "lamp-2" }])];
  await node.prepare(...claims);
  const after = await samples();
  assert.equal(after.get(prepares), 2);
  assert.equal(after.get(of("dra_request_duration_seconds_count", ',operation="prepare"')), 2);
  assert.equal(after.get(of("dra_request_duration_seconds_bucket", ',operation="prepare",le="+Inf"')), 2);
  assert.equal(after.get(of("dra_request_duration_seconds_bucket", ',operation="prepare",le="45"')), 2);
  assert.ok(after.get(of("dra_request_duration_seconds_sum", ',operation="prepare"'))! > 0);
  assert.equal(after.get(of("dra_requests_inflight", ',operation="prepare"')), 0);
  assert.equal(after.get(of("dra_node_prepare_errors_total", "")), 1);
  assert.equal(
    after.get(of("dra_prepared_claims", `,node="${nodeName}"`)),
    2,
    "a failed one is to be undone",
  );
  assert.equal(after.get(of("dra_prepared_devices", `,node="${nodeName}"`)), 3);
  assert.equal(after.get(of("dra_registered", `,node="${nodeName}"`)), 1);
  assert.equal(after.get(of("dra_resource_slice_writes_total", ',verb="create"')), 1);
  await node.unprepare(...claims);
  assert.equal((await samples()).get(of("dra_requests_total", ',operation="unprepare"')), 2);
  assert.equal((await samples()).get(of("dra_prepared_claims", `,node="${nodeName}"`)), 0);

  const answer = await ask("/metrics");
  assert.match(answer.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/);
  const types = (await answer.text()).split("\n").filter((line) => line.startsWith("# TYPE"));
  assert.equal(new Set(types).size, types.length);
  assert.ok(types.includes("# TYPE dra_request_duration_seconds histogram"));
  assert.deepEqual([(await ask("/")).status, (await ask("/metrics", "POST")).status], [404, 405]);
  assert.equal(await statusUnder("evil.example", address), 421);
});

test("a driver receives a report of each claim, and serves its own metrics", async () => {
  let address = "";
  const heard: ClaimOperation[] = [];
  await node.start(
    {
      ...lamps,
      async prepare() {
        throw new Error("no light");
      },
    },
    {
      metrics: {
        host: "127.0.0.1",
        port: 0,
        onListening: (at) => {
          address = at;
        },
        onClaim: (operation) => heard.push(operation),
        more: () => `lamps_heard ${heard.length}\n`,
      },
    },
  );
  const claim = node.claim("dark", [{}]);
  await node.prepare(claim);
  await node.unprepare(claim);
  assert.deepEqual(
    heard.map(({ operation, error }) => [operation, (error as Error | undefined)?.message]),
    [
      ["prepare", "no light"],
      ["unprepare", undefined],
    ],
  );
  assert.ok(heard.every(({ seconds }) => seconds > 0 && seconds < 30));
  assert.match(await (await fetch(`http://${address}/metrics`)).text(), /\nlamps_heard 2\n$/);
});

test("a port that is taken is an error that names it, and nothing stays", async () => {
  let address = "";
  await node.start(lamps, {
    metrics: {
      host: "127.0.0.1",
      port: 0,
      onListening: (at) => {
        address = at;
      },
    },
  });
  await eventually("the first listens", () => address !== "");
  const port = Number(address.split(":")[1]);
  const other = fixture();
  nodes.push(other);
  const run = other.start(lamps, { metrics: { host: "127.0.0.1", port } }).then(({ done }) => done);
  await assert.rejects(
    run,
    new RegExp(`^Error: cannot serve metrics on 127\\.0\\.0\\.1:${port}: .*EADDRINUSE`),
  );
});

for (const [version, definition, other] of [
  ["v1", DRAPluginDefinition, DRAPluginV1beta1],
  ["v1beta1", DRAPluginV1beta1, DRAPluginDefinition],
] as const) {
  test(`only ${version} of the DRA gRPC API`, async () => {
    await node.start(lamps, { nodeAPIs: [version] });
    const { supportedVersions } = await getInfo(node.paths.registration);
    assert.deepEqual(supportedVersions, [`${version}.DRAPlugin`]);
    const claim = node.claim("one", [{}]);
    const { uid, namespace, name } = claim.metadata;
    const channel = unixChannel(node.paths.dra);
    const request = { claims: [{ uid, namespace, name }] };
    try {
      const answer = await channel.caller(definition).nodePrepareResources(request, { timeout: 5000 });
      assert.equal(answer.claims[uid]?.error, "");
      await assert.rejects(channel.caller(other).nodePrepareResources(request, { timeout: 5000 }), {
        code: "Unimplemented",
      });
    } finally {
      channel.close();
    }
  });
}

test("APIs that there are not are refused", async () => {
  for (const nodeAPIs of [[], ["v2"]]) {
    const options = { nodeAPIs: nodeAPIs as NodeAPI[] } as Partial<RunOptions> as RunOptions;
    await assert.rejects(
      runDriver(lamps, options),
      /^TypeError: nodeAPIs: .* must be a list with "v1", "v1beta1" or both$/,
    );
  }
});

/** Asks as a page of another site whose name leads to this machine. */
function statusUnder(name: string, address: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`http://${address}/metrics`, { headers: { host: name }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once("error", reject);
  });
}
