import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import type { Driver, PreparedClaim, SchemaIssue, StandardSchema } from "../index.ts";
import { driverName, type Fixture, fixture } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

interface Light {
  readonly colour: string;
  readonly until: Date;
}

/** As a schema library would make it: it refuses unknown fields, and turns text into a Date. */
const light: StandardSchema<Light> = {
  "~standard": {
    version: 1,
    vendor: "test",
    async validate(value) {
      const issues: SchemaIssue[] = [];
      const { colour, until, ...rest } = value as Record<string, unknown>;
      if (typeof colour !== "string") issues.push({ message: "expected text", path: ["colour"] });
      if (!Array.isArray(until) || Number.isNaN(Date.parse(until[0]))) {
        issues.push({ message: "expected a time", path: [{ key: "until" }, 0] });
      }
      for (const name of Object.keys(rest)) issues.push({ message: `unknown field ${name}` });
      if (issues.length > 0) return { issues };
      return { value: { colour: colour as string, until: new Date((until as string[])[0]!) } };
    },
  },
};

const config = (source: string, parameters: object, requests: string[] = []) => ({
  source,
  requests,
  opaque: { driver: driverName, parameters },
});
const time = "2026-01-01T00:00:00.000Z";

function lightDriver() {
  const seen: (readonly Light[])[] = [];
  const undone: PreparedClaim[] = [];
  const driver: Driver<Light> = {
    ...lamps,
    parameters: light,
    async prepare(claim) {
      for (const { configs } of claim.devices) seen.push(configs.map(({ parameters }) => parameters));
      return claim.devices.map((device) => ({
        device,
        edits: { env: device.configs.map(({ parameters }) => `UNTIL=${parameters.until.getTime()}`) },
      }));
    },
    async unprepare(claim) {
      undone.push(claim);
    },
  };
  return { driver, seen, undone };
}

test("prepare receives the parsed parameters, the class's before the claim's", async () => {
  const { driver, seen, undone } = lightDriver();
  await node.start(driver);
  const claim = node.claim("one", [{ device: "lamp-0" }, { device: "lamp-1" }], {
    config: [
      config("FromClaim", { colour: "red", until: [time] }),
      config("FromClass", { colour: "blue", until: [time] }),
      { ...config("FromClass", { nonsense: true }), opaque: { driver: "other.example.com", parameters: {} } },
      config("FromClaim", { nonsense: true }, ["another-request"]),
    ],
  });
  const answer = (await node.prepare(claim))[claim.metadata.uid]!;
  assert.equal(answer.error, "");
  const both = [
    { colour: "blue", until: new Date(time) },
    { colour: "red", until: new Date(time) },
  ];
  assert.deepEqual(seen, [both, both]);
  // The checkpoint has the parameters as they were written: a Date would not come back from there.
  const text = readFileSync(join(node.paths.claims, `${claim.metadata.uid}.json`), "utf8");
  assert.deepEqual(JSON.parse(text).devices[0].configs[0], {
    source: "FromClass",
    parameters: { colour: "blue", until: [time] },
  });
  await node.unprepare(claim);
  assert.deepEqual(undone[0]?.devices[0]?.configs[0]?.parameters, { colour: "blue", until: [time] });
});

test("an error of invalid parameters names claim, place and field; there is nothing to undo", async () => {
  const { driver, seen } = lightDriver();
  await node.start(driver);
  const claim = node.claim("one", [{}], {
    config: [
      config("FromClass", { colour: "blue", until: [time] }),
      config("FromClaim", { colour: 7, until: ["never"], colr: "red" }),
    ],
  });
  const { uid } = claim.metadata;
  const at = "status.allocation.devices.config[1].opaque.parameters";
  assert.equal(
    (await node.prepare(claim))[uid]!.error,
    `error preparing devices for claim ${uid}: claim default/one: parameters from the claim are invalid: ` +
      `${at}.colour: expected text; ${at}.until[0]: expected a time; ${at}: unknown field colr`,
  );
  assert.deepEqual(seen, []);
  assert.deepEqual(existsSync(node.paths.claims) ? readdirSync(node.paths.claims) : [], []);
});

test("rejects an invalid schema at the start", async () => {
  const driver = { ...lamps, parameters: { parse() {} } } as unknown as Driver;
  await assert.rejects(
    node.start(driver).then(({ done }) => done),
    /parameters: \{\} must be a schema with Standard Schema, such as those of zod and valibot$/,
  );
});
