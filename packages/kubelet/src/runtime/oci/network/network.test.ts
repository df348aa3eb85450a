import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { ServiceRoute } from "../../../services/routes.ts";
import { find } from "../../host/isolation.ts";
import { Addresses } from "./addresses.ts";
import { linkName } from "./connect.ts";
import { PodNetwork } from "./network.ts";
import { ask, busybox, folder, freePort, inside, missing, open, serve } from "./testing.ts";

test("pods of two nodes and the machine reach each other, and nothing stays", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  if (busybox === undefined) return t.skip("oci: busybox is not installed");
  const at = folder(t);
  const [one, two] = await Promise.all([open(at, "one"), open(at, "two")]);
  assert.equal(one.bridge, two.bridge);
  assert.notEqual(one.range, two.range);
  const namespaces = ["a", "b"].map((name) => join(at, name));
  const [first = "", second = ""] = namespaces;
  const [a, b] = await Promise.all([one.add("a", first, []), two.add("b", second, [])]);
  assert.notEqual(a.ip, b.ip);
  assert.equal(one.address("a"), a.ip);
  await serve(t, first, 80, "hello");
  // From the other pod, from the machine, and from itself by loopback; the pod sees the client's address.
  assert.equal(await inside(second, `${busybox} nc ${a.ip} 80 </dev/null`), `hello ${b.ip}`);
  assert.equal(await ask(a.ip, 80), `hello ${one.gateway}`);
  assert.equal(await inside(first, `${busybox} nc 127.0.0.1 80 </dev/null`), "hello 127.0.0.1");
  assert.match(await inside(second, "ip route"), new RegExp(`default via ${two.gateway}`));
  // Pods reach the machine by its address in the network.
  const server = createServer((socket) => socket.end("machine")).listen(0, "0.0.0.0");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  assert.equal(await inside(second, `${busybox} nc ${two.gateway} ${port} </dev/null`), "machine");

  await one.remove("a", first);
  await one.remove("a", first);
  await two.remove("b", second);
  const { bridge } = one;
  await one.destroy();
  assert.match(execFileSync("ip", ["link"], { encoding: "utf8" }), new RegExp(`${bridge}:`));
  await two.destroy();
  assert.doesNotMatch(
    execFileSync("ip", ["link"], { encoding: "utf8" }),
    new RegExp(`${bridge}:|${linkName("a")}`),
  );
  assert.ok(!readFileSync("/proc/mounts", "utf8").includes(at));
  if (find("iptables-save") !== undefined)
    assert.ok(!execFileSync("iptables-save", { encoding: "utf8" }).includes(`${bridge}-`));
});

test("ports of the machine lead to a pod, until it is gone", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  if (find("iptables-restore") === undefined) return t.skip("oci: iptables is not installed");
  if (busybox === undefined) return t.skip("oci: busybox is not installed");
  const at = folder(t);
  const network = await open(at, "node");
  const namespace = join(at, "ns");
  const [open1, open2] = [await freePort(), await freePort()];
  const { ip } = await network.add("sandbox", namespace, [
    { protocol: "TCP", containerPort: 80, hostPort: open1, hostIP: "" },
    { protocol: "TCP", containerPort: 80, hostPort: open2, hostIP: "127.0.0.1" },
  ]);
  await serve(t, namespace, 80, "hello");
  assert.match(await ask("127.0.0.1", open1), /^hello /);
  assert.match(await ask(network.gateway, open1), /^hello /);
  assert.match(await ask("127.0.0.1", open2), /^hello /);
  await assert.rejects(ask(network.gateway, open2), { code: "ECONNREFUSED" });
  // The pod reaches itself by the machine's port.
  assert.match(await inside(namespace, `${busybox} nc ${network.gateway} ${open1} </dev/null`), /^hello /);
  await assert.rejects(
    network.add("other", join(at, "other"), [
      { protocol: "TCP", containerPort: 1, hostPort: open2, hostIP: "" },
    ]),
    new RegExp(`port ${open2}/TCP of the machine leads to the sandbox sandbox already`),
  );
  assert.equal(network.address("other"), undefined);
  await network.remove("sandbox", namespace);
  await assert.rejects(ask("127.0.0.1", open1), { code: "ECONNREFUSED" });
  assert.equal(network.address("sandbox"), undefined);
  assert.notEqual((await network.add("next", namespace, [])).ip, ip);
  await network.remove("next", namespace);
});

test("a restarted agent adopts sandboxes that stay, and removes others", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  const at = folder(t);
  const first = await open(at, "node");
  const { ip } = await first.add("stays", join(at, "stays"), []);
  await first.add("goes", join(at, "goes"), []);
  const { bridge } = first;
  first.close();
  const second = await open(at, "node");
  assert.equal(second.bridge, bridge);
  assert.equal(second.address("stays"), ip);
  await second.collect(new Set(["stays"]), (sandbox) => join(at, sandbox));
  assert.equal(second.address("goes"), undefined);
  const links = execFileSync("ip", ["link"], { encoding: "utf8" });
  assert.match(links, new RegExp(linkName("stays")));
  assert.doesNotMatch(links, new RegExp(linkName("goes")));
  assert.deepEqual(
    readdirSync(at).filter((name) => !name.startsWith("network.db")),
    ["stays"],
  );
  // A partial sandbox is made again with the same address.
  assert.equal((await second.add("stays", join(at, "stays"), [])).ip, ip);
  await second.remove("stays", join(at, "stays"));
});

test("a cluster whose folder is gone loses its bridge to the next that comes", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  const gone = mkdtempSync(join(tmpdir(), "dray-net-"));
  const forsaken = await PodNetwork.open({ directory: gone, nodeName: "node" });
  const { bridge } = forsaken;
  forsaken.close();
  rmSync(gone, { recursive: true });
  await open(folder(t), "node");
  const alias = execFileSync("ip", ["-details", "link", "show"], { encoding: "utf8" });
  assert.ok(!alias.includes(gone), `${bridge} is still there`);
});

test("agents that start together each get a network, and remove an orphaned one once", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  for (let round = 0; round < 3; round++) {
    const gone = mkdtempSync(join(tmpdir(), "dray-net-"));
    const forsaken = await PodNetwork.open({ directory: gone, nodeName: "node" });
    forsaken.close();
    rmSync(gone, { recursive: true });
    const networks = await Promise.all([1, 2, 3, 4].map(() => open(folder(t), "node")));
    assert.equal(new Set(networks.map((network) => network.bridge)).size, networks.length);
    const links = execFileSync("ip", ["-details", "link", "show"], { encoding: "utf8" });
    assert.ok(!links.includes(gone), `the bridge of ${gone} is still there`);
    for (const { bridge } of networks) {
      assert.match(links, new RegExp(` ${bridge}:`));
      const rules = execFileSync("iptables", ["--wait", "30", "-t", "nat", "-S"], { encoding: "utf8" });
      assert.match(rules, new RegExp(`-j ${bridge}-`), `nothing leads to the rules of ${bridge}`);
    }
  }
});

test("addresses are unique and reused late", (t) => {
  const addresses = new Addresses(join(folder(t), "a.db"));
  t.after(() => addresses.close());
  addresses.setOctet(244);
  addresses.addNode("n");
  addresses.addNode("m");
  addresses.addNode("n");
  assert.equal(addresses.range("n"), "10.244.2.0/23");
  assert.equal(addresses.range("m"), "10.244.4.0/23");
  const given = Array.from({ length: 508 }, (_, i) => addresses.take("n", `s${i}`, []));
  assert.equal(new Set(given).size, 508);
  assert.ok(given.every((ip) => /^10\.244\.[23]\.(?!0$|255$)\d+$/.test(ip)));
  assert.throws(() => addresses.take("n", "more", []), /508 pods have all/);
  addresses.free("s7");
  assert.equal(addresses.take("n", "again", []), given[7]);
  assert.equal(addresses.take("n", "again", []), given[7]);
  addresses.free("again");
  addresses.free("s3");
  // s3 was allocated before s7, whose address was allocated last.
  assert.equal(addresses.take("n", "late", []), given[3]);
});

/**
 * Addresses of Services that no other cluster on this machine has: for the machine itself the first one would
 * win.
 */
const clusterIP = (last: number): string => `198.18.${process.pid % 256}.${last}`;

/** A route with these endpoints, such as `10.9.2.1:80`. */
function route(endpoints: readonly string[], values: Partial<ServiceRoute> = {}): ServiceRoute {
  return {
    name: "default/web:http",
    protocol: "tcp",
    clusterIP: clusterIP(7),
    port: 80,
    externalIPs: [],
    internalLocal: false,
    externalLocal: false,
    endpoints: endpoints.map((text) => {
      const [address = "", port = ""] = text.split(":");
      return { address, port: Number(port) };
    }),
    ...values,
  };
}

test("a client of UDP that keeps its port gets another endpoint when its own is gone", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  if (find("iptables-restore") === undefined) return t.skip("oci: iptables is not installed");
  if (find("conntrack") === undefined) return t.skip("oci: conntrack is not installed");
  const at = folder(t);
  const network = await open(at, "node");
  const spaces = ["a", "b", "c"].map((name) => join(at, name));
  const ips: string[] = [];
  for (const [i, name] of ["a", "b", "c"].entries()) ips.push((await network.add(name, spaces[i]!, [])).ip);
  const node = (namespace: string, script: string): ChildProcess => {
    const child = spawn("nsenter", [`--net=${namespace}`, process.execPath, "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    t.after(async () => {
      child.kill("SIGKILL");
      await exited;
    });
    return child;
  };
  for (const [i, word] of ["a", "b"].entries())
    await once(
      node(
        spaces[i]!,
        `const s = require("dgram").createSocket("udp4"); s.on("message", (m, from) => s.send("${word}", from.port, from.address)); s.bind(53, () => console.log("up"))`,
      ).stdout!,
      "data",
    );
  const lead = (...endpoints: string[]) =>
    network.setServices({ routes: endpoints.length > 0 ? [route(endpoints, { protocol: "udp" })] : [] });
  const client = node(
    spaces[2]!,
    `const s = require("dgram").createSocket("udp4"); s.on("message", (m) => process.stdout.write(m)); s.on("error", () => {}); setInterval(() => s.send("x", 80, "${clusterIP(7)}"), 50)`,
  );
  let heard = "";
  client.stdout!.on("data", (data: Buffer) => (heard += String(data)));
  const hears = (word: string) => eventuallyPasses(async () => assert.match(heard, new RegExp(`${word}$`)));
  // Sent before the Service exists.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await lead(`${ips[0]}:53`);
  await hears("a");
  await lead(`${ips[1]}:53`);
  await hears("b");
});

test("a Service leads pods and the machine to its endpoints, and a pod to itself", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  if (find("iptables-restore") === undefined) return t.skip("oci: iptables is not installed");
  if (busybox === undefined) return t.skip("oci: busybox is not installed");
  const at = folder(t);
  const network = await open(at, "node");
  const elsewhere = folder(t);
  const other = await open(elsewhere, "node");
  const [first, second, third] = [join(at, "a"), join(at, "b"), join(elsewhere, "c")];
  const [a, b] = [await network.add("a", first, []), await network.add("b", second, [])];
  await other.add("c", third, []);
  await serve(t, first, 8080, "a");
  await serve(t, second, 8080, "b");
  const local = createServer((socket) => socket.end("machine")).listen(0, "127.0.0.1");
  t.after(() => local.close());
  await once(local, "listening");
  const { port } = local.address() as { port: number };
  const [nodePort, emptyPort] = [await freePort(), await freePort()];
  await network.setServices({
    routes: [
      route([`${a.ip}:8080`], { nodePort }),
      route([`${a.ip}:8080`, `${b.ip}:8080`], { clusterIP: clusterIP(8), affinitySeconds: 60 }),
      route([`127.0.0.1:${port}`], { clusterIP: clusterIP(1), port: 443 }),
      route([], { clusterIP: clusterIP(9), nodePort: emptyPort }),
      route([`${a.ip}:8080`], {
        clusterIP: clusterIP(10),
        externalIPs: [clusterIP(77)],
        externalLocal: true,
      }),
    ],
  });
  const call = (namespace: string, address: string, port: number): Promise<string> =>
    inside(namespace, `${busybox} nc -w 3 ${address} ${port} </dev/null`);
  // The endpoint sees the client's address; one that calls itself sees the machine's.
  assert.equal(await call(second, clusterIP(7), 80), `a ${b.ip}`);
  assert.equal(await call(first, clusterIP(7), 80), `a ${network.gateway}`);
  assert.match(await ask(clusterIP(7), 80), /^a /);
  for (const host of ["127.0.0.1", network.gateway]) assert.match(await ask(host, nodePort), /^a /);
  assert.equal(await call(second, network.gateway, nodePort), `a ${b.ip}`);
  assert.equal(await call(second, clusterIP(77), 80), `a ${b.ip}`);
  // Pods reach listeners on the machine's loopback address only by the Service.
  assert.equal(await call(second, clusterIP(1), 443), "machine");
  assert.equal(await ask(clusterIP(1), 443), "machine");
  await inside(
    second,
    `ip addr del 127.0.0.1/8 dev lo; ip route add 127.0.0.0/8 via ${network.gateway}; echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet`,
  );
  await assert.rejects(call(second, "127.0.0.1", port));
  const guard = ["-w", "INPUT", "-i", network.bridge, "-j", `${network.bridge}-guard`];
  execFileSync("iptables", guard.toSpliced(1, 0, "-D"));
  assert.equal(await call(second, "127.0.0.1", port), "machine");
  await network.repair();
  await assert.rejects(call(second, "127.0.0.1", port));
  const [word = ""] = (await call(second, clusterIP(8), 80)).split(" ");
  for (let i = 0; i < 8; i++) assert.equal((await call(second, clusterIP(8), 80)).split(" ")[0], word);
  await assert.rejects(call(second, clusterIP(9), 80), /refused/);
  await assert.rejects(ask(clusterIP(9), 80), { code: "ECONNREFUSED" });
  await assert.rejects(ask(network.gateway, emptyPort), { code: "ECONNREFUSED" });
  // Another cluster on this machine has other Services.
  await other.setServices({ routes: [route([])] });
  await assert.rejects(call(third, clusterIP(7), 80), /refused/);
  assert.match(await ask(clusterIP(7), 80), /^a /);
  // Both endpoints of a Service without affinity have clients.
  await network.setServices({ routes: [route([`${a.ip}:8080`, `${b.ip}:8080`])] });
  const words = new Set<string>();
  for (let i = 0; i < 200 && words.size < 2; i++) words.add((await ask(clusterIP(7), 80)).slice(0, 1));
  assert.deepEqual([...words].sort(), ["a", "b"]);
});
