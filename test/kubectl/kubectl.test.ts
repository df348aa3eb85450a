/**
 * The requests of the real kubectl, command by command, its output, and the resulting state of the objects.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Client } from "@dray/client";
import { realTime } from "@dray/testing/eventually";
import { parseAllDocuments } from "yaml";
import { withoutKubectl } from "../harness.ts";
import { type KubectlServer, startKubectlServer } from "./harness.ts";

/** A request by the administrator beside kubectl: `POST /api/v1/namespaces`. */
type Request = readonly [line: string, body?: object];

interface Step {
  /** A shell line. */
  readonly run: string;
  /** Why the step cannot be made yet. */
  readonly skip?: string;
  /** Exit code; 0 if absent. */
  readonly code?: number;
  /** Ends the command when its standard output matches `stdout`; it has no exit code then. */
  readonly until?: boolean;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Requests before the command. */
  readonly given?: readonly Request[];
  /** Requests that are made once, when kubectl makes one that contains `when`. */
  readonly meanwhile?: { readonly when: string; readonly requests: readonly Request[] };
  /** As `harness.ts` describes them, in their order; `*` stands for any text without `&`. */
  readonly requests?: readonly string[];
  /** Regular expressions, over several lines; nothing may be printed to standard error if absent. */
  readonly stdout?: string;
  readonly stderr?: string;
  /** By path: what the object holds afterwards, among others; null: it is not there. */
  readonly then?: Readonly<Record<string, unknown>>;
}

const folder = join(import.meta.dirname, "steps");

describe("kubectl", { skip: withoutKubectl }, () => {
  let server: KubectlServer;
  before(async () => {
    server = await startKubectlServer();
  });
  after(() => server.close());

  for (const file of readdirSync(folder).sort()) {
    describe(file.replace(".yaml", ""), () => {
      for (const document of parseAllDocuments(readFileSync(join(folder, file), "utf8"))) {
        if (document.errors.length > 0) throw document.errors[0];
        const step = document.toJS() as Step;
        test(step.run, { skip: step.skip ?? false }, () => play(server, step));
      }
    });
  }
});

async function play(server: KubectlServer, step: Step): Promise<void> {
  await send(server.admin, step.given);
  const stdoutPattern = new RegExp(step.stdout ?? "", "m");
  let waiting = step.meanwhile;
  const output = await server.shell(step.run, {
    ...(step.input === undefined ? {} : { input: step.input }),
    ...(step.env === undefined ? {} : { env: step.env }),
    ...(step.until === true ? { until: (stdout: string) => stdoutPattern.test(stdout) } : {}),
    onRequest(line) {
      if (waiting === undefined || !line.includes(waiting.when)) return;
      const { requests } = waiting;
      waiting = undefined;
      const answered = realTime(20, "a watch sees only what happens after its request has been answered");
      void answered.then(() => send(server.admin, requests));
    },
  });
  const wanted = step.requests?.map((line) => pattern(line, output.requests)) ?? output.requests;
  const shown = {
    code: output.code,
    stderr: step.stderr === undefined ? output.stderr : "",
    requests: output.requests,
  };
  const code = step.until === true ? null : (step.code ?? 0);
  assert.deepEqual(shown, { code, stderr: "", requests: wanted }, output.stderr + output.stdout);
  if (step.stderr !== undefined) assert.match(output.stderr, new RegExp(step.stderr, "m"));
  assert.match(output.stdout, stdoutPattern);
  for (const [path, wantedObject] of Object.entries(step.then ?? {})) {
    const object = await server.admin.text("GET", path).then(JSON.parse, (error) => {
      if (error.code === 404) return null;
      throw error;
    });
    if (wantedObject === null) assert.equal(object, null);
    else assert.partialDeepStrictEqual(object, wantedObject);
  }
}

/**
 * The recorded request that a line with `*` matches, so that the two compare as equal; else the line itself.
 */
function pattern(line: string, requests: readonly string[]): string {
  const expression = new RegExp(`^${line.split("*").map(RegExp.escape).join("[^&]*")}$`);
  return requests.find((request) => expression.test(request)) ?? line;
}

async function send(admin: Client, requests: readonly Request[] = []): Promise<void> {
  for (const [line, body] of requests) {
    const [method, path] = line.split(" ") as [string, string];
    const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
    await admin.text(method, path, { headers, ...(body === undefined ? {} : { body }) });
  }
}
