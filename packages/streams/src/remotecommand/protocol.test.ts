import assert from "node:assert/strict";
import { test } from "node:test";
import { handshake, remoteCommandProtocols } from "../index.ts";
import { terminalSizes } from "./resize.ts";
import { exited, internalError, outcomeOf, statusBytes, success } from "./status.ts";

test("the first protocol of the client's that the server speaks is chosen", () => {
  const chosen = (requested: string | undefined) => handshake(requested, remoteCommandProtocols);
  assert.deepEqual(chosen("v5.channel.k8s.io, v4.channel.k8s.io, channel.k8s.io"), {
    protocol: "v4.channel.k8s.io",
  });
  assert.deepEqual(chosen("channel.k8s.io,v4.channel.k8s.io"), { protocol: "channel.k8s.io" });
  assert.deepEqual(chosen("v9.channel.k8s.io"), {
    status: 403,
    message:
      "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], " +
      "server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]",
    accepted: remoteCommandProtocols,
  });
  assert.equal(chosen(undefined).protocol, undefined);
  assert.match((chosen(" , ") as { message: string }).message, /but no valid protocols$/);
});

test("parses the error stream as client-go does", () => {
  const v4 = "v4.channel.k8s.io";
  const read = (text: string, protocol = v4) => outcomeOf(Buffer.from(text), protocol);
  assert.deepEqual(outcomeOf(statusBytes(success, v4), v4), { type: "success" });
  assert.deepEqual(outcomeOf(statusBytes(exited(7, "exit status 7"), v4), v4), { type: "exited", code: 7 });
  assert.deepEqual(outcomeOf(statusBytes(internalError("x"), v4), v4), {
    type: "failed",
    message: "Internal error occurred: x",
  });
  // Before v4 the error stream holds plain text; it is empty on success.
  assert.deepEqual(outcomeOf(statusBytes(success, "v3.channel.k8s.io"), "v3.channel.k8s.io"), {
    type: "success",
  });
  assert.deepEqual(read("no", "v2.channel.k8s.io"), {
    type: "failed",
    message: "error executing remote command: no",
  });
  const nonsense: readonly (readonly [text: string, message: RegExp])[] = [
    ["{", /^error stream protocol error: .* in "\{"$/],
    ["null", /unknown error$/],
    ["{}", /unknown error$/],
    ['{"status":"Failure","reason":"NonZeroExitCode"}', /details must be set$/],
    ['{"status":"Failure","reason":"NonZeroExitCode","details":{}}', /no ExitCode cause given$/],
    [
      '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"256"}]}}',
      /invalid exit code value "256"$/,
    ],
  ];
  for (const [text, message] of nonsense) {
    const outcome = read(text);
    assert.ok(outcome.type === "failed");
    assert.match(outcome.message, message);
  }
});

test("sizes of a terminal are JSON objects, however they are cut", async () => {
  const sizes = async (...chunks: string[]) => {
    const found: string[] = [];
    const bytes = chunks.map((chunk) => Buffer.from(chunk));
    for await (const { width, height } of terminalSizes(
      (async function* () {
        yield* bytes;
      })(),
    )) {
      found.push(`${width}x${height}`);
    }
    return found;
  };
  assert.deepEqual(await sizes('{"Width":80,"Hei', 'ght":24}\n{"width":1,"HEIGHT":2}'), ["80x24", "1x2"]);
  assert.deepEqual(await sizes('{"Width":80,"Height":24}', "nonsense}", '{"Width":1,"Height":1}'), ["80x24"]);
  assert.deepEqual(await sizes('{"Width":65536,"Height":24}'), []);
  assert.deepEqual(await sizes("[1]}", "{}"), []);
  assert.deepEqual(await sizes("x".repeat(10_000), "}"), []);
});
