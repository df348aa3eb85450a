import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Rule } from "./rule.ts";

/** Rules of networks and host names. */
export function networkRules(rule: Rule): void {
  rule(
    "a port of the pod is reached, and one that nobody listens on says so",
    async (pod) => {
      await pod.run();
      await pod.start("while :; do echo hello | nc -l -p 8080; done");
      await eventuallyPasses(async () => {
        const [near, far] = duplexPair();
        const forwarded = pod.node.service.portForward(pod.sandboxId, 8080, far);
        const said = text(near);
        near.end();
        const [answer] = await Promise.all([said, forwarded]);
        assert.equal(answer, "hello\n");
      });
      const [, far] = duplexPair();
      await assert.rejects(pod.node.service.portForward(pod.sandboxId, 9, far), /refused/);
    },
    "network of its own",
  );

  rule(
    "a pod has an address that the machine reaches, and not the machine's",
    async (pod) => {
      await pod.run();
      const [sandbox] = await pod.node.service.listPodSandboxes(pod.uid);
      const [address] = sandbox?.ips ?? [];
      assert.match(address ?? "", /^[0-9.]+$/);
      await pod.start("while :; do echo hello | nc -l -p 8080; done");
      await eventuallyPasses(async () => assert.equal(await text(connect(8080, address)), "hello\n"));
      const server = createServer((socket) => socket.end("machine")).listen(0, "127.0.0.1");
      try {
        await new Promise((resolve) => server.once("listening", resolve));
        const { port } = server.address() as { port: number };
        const { output } = await pod.ended(`nc 127.0.0.1 ${port} < /dev/null || echo refused`);
        assert.match(output, /refused/);
      } finally {
        server.close();
      }
    },
    "network of its own",
  );

  rule("a pod with the machine's network has its ports", async (pod) => {
    await pod.run({ hostNetwork: true });
    const server = createServer((socket) => socket.end("machine\n")).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { port: number };
      const { output } = await pod.ended(
        `nc 127.0.0.1 ${port} < /dev/null 2> /dev/null || bash -c "cat < /dev/tcp/127.0.0.1/${port}"`,
      );
      assert.equal(output, "machine\n");
    } finally {
      server.close();
    }
  });

  rule(
    "the hostname is the pod's",
    async (pod) => {
      await pod.run({ hostname: "its-name" });
      assert.equal((await pod.ended("hostname")).output, "its-name\n");
    },
    "hostname of its own",
  );

  rule(
    "the name servers are the pod's",
    async (pod) => {
      await pod.run({ dns: { servers: ["10.0.0.10"], searches: ["a.b"], options: ["ndots:5"] } });
      const { output } = await pod.ended("cat /etc/resolv.conf");
      assert.deepEqual(output.trim().split("\n"), ["search a.b", "nameserver 10.0.0.10", "options ndots:5"]);
    },
    "name servers of its own",
  );
}
