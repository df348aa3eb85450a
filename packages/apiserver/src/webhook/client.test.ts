import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { createAuthority, issueCertificate } from "../certificates/pki.ts";
import type { Storage } from "../storage/storage.ts";
import { WebhookClient } from "./client.ts";

test("a connection that the webhook has closed meanwhile is opened again", async () => {
  const now = Date.now();
  const authority = await createAuthority("webhooks", now);
  const names = { commonName: "w", ipAddresses: ["127.0.0.1"], usages: ["server" as const], validity: 1 };
  const { certificate: cert, key } = await issueCertificate(authority, names, now);
  const used = new WeakSet<Socket>();
  let questions = 0;
  const server = createServer({ cert, key }, (request, response) => {
    questions++;
    // Like a server whose idle timeout ends when the next request arrives.
    if (used.has(request.socket)) request.socket.destroy();
    else response.end("{}");
    used.add(request.socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const client = new WebhookClient({ storage: {} as Storage, loopbackPods: undefined }, systemClock);
  const config = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    caBundle: Buffer.from(authority.certificate).toString("base64"),
  };
  const ask = (): Promise<string> => client.post(config, "{}", 10, undefined);
  assert.equal(await ask(), "{}");
  assert.equal(await ask(), "{}");
  assert.equal(questions, 3);
  client.close();
  server.closeAllConnections();
  server.close();
});
