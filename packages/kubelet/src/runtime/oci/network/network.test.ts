import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { find } from "../../host/isolation.ts";
import { Addresses } from "./addresses.ts";
import { linkName, PodNetwork } from "./network.ts";
import { portRules } from "./rules.ts";

/** Why this machine has no networks for pods; undefined if it has. */
async function lack(): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "dray-net-"));
  try {
    const network = await PodNetwork.open({ directory, nodeName: "probe" });
    await network.destroy();
    network.close();
    return undefined;
  } catch (error) {
    return `oci: no pod networks here: ${(error as Error).message}`;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
const missing = await lack();
const busybox = find("busybox");

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "dray-net-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function open(t: TestContext, directory: string, nodeName: string): Promise<PodNetwork> {
  const network = await PodNetwork.open({ directory, nodeName });
  t.after(async () => {
    await network.destroy().catch(() => {});
    network.close();
  });
  return network;
}

const run = promisify(execFile);

/** Runs a line of shell in a name space. */
const inside = async (namespace: string, line: string): Promise<string> =>
  (await run("nsenter", [`--net=${namespace}`, "sh", "-c", line], { timeout: 20_000 })).stdout;

/** A server in a name space that says one word to each who connects, until the test ends. */
async function serve(t: TestContext, namespace: string, port: number, word: string): Promise<void> {
  const script = `require("net").createServer((s) => { s.on("error", () => {}); s.end(process.argv[2] + " " + s.remoteAddress); }).listen(+process.argv[1], "0.0.0.0", () => console.log("up"))`;
  const child = spawn("nsenter", [`--net=${namespace}`, process.execPath, "-e", script, String(port), word], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  await once(child.stdout, "data");
}

async function ask(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

test("pods of two nodes and the machine reach each other, and nothing stays", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  if (busybox === undefined) return t.skip("oci: busybox is not installed");
  const at = folder(t);
  const [one, two] = await Promise.all([open(t, at, "one"), open(t, at, "two")]);
  assert.equal(one.bridge, two.bridge);
  assert.notEqual(one.range, two.range);
  const namespaces = ["a", "b"].map((name) => join(at, name));
  const [first = "", second = ""] = namespaces;
  const [a, b] = await Promise.all([one.add("sandbox-a", first, []), two.add("sandbox-b", second, [])]);
  assert.notEqual(a.ip, b.ip);
  assert.equal(one.address("sandbox-a"), a.ip);
  await serve(t, first, 80, "hello");
  // From the other pod, from the machine, from itself by loopback; the pod sees who calls.
  assert.equal(await inside(second, `${busybox} nc ${a.ip} 80 </dev/null`), `hello ${b.ip}`);
  assert.equal(await ask(a.ip, 80), `hello ${one.gateway}`);
  assert.equal(await inside(first, `${busybox} nc 127.0.0.1 80 </dev/null`), "hello 127.0.0.1");
  assert.match(await inside(second, "ip route"), new RegExp(`default via ${two.gateway}`));
  // The machine is reached by its address in the network.
  const server = createServer((socket) => socket.end("machine")).listen(0, "0.0.0.0");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  assert.equal(await inside(second, `${busybox} nc ${two.gateway} ${port} </dev/null`), "machine");

  await one.remove("sandbox-a", first);
  await one.remove("sandbox-a", first);
  await two.remove("sandbox-b", second);
  const { bridge } = one;
  await one.destroy();
  assert.match(execFileSync("ip", ["link"], { encoding: "utf8" }), new RegExp(`${bridge}:`));
  await two.destroy();
  assert.doesNotMatch(
    execFileSync("ip", ["link"], { encoding: "utf8" }),
    new RegExp(`${bridge}:|${linkName("sandbox-a")}`),
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
  const network = await open(t, at, "node");
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
  // By the machine's port the pod reaches itself.
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

test("what a killed agent has left is taken up, or removed", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  const at = folder(t);
  const first = await open(t, at, "node");
  const { ip } = await first.add("stays", join(at, "stays"), []);
  await first.add("goes", join(at, "goes"), []);
  const { bridge } = first;
  first.close();
  const second = await open(t, at, "node");
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
  // Half-made: the sandbox is made again with the address that it had.
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
  await open(t, folder(t), "node");
  const alias = execFileSync("ip", ["-details", "link", "show"], { encoding: "utf8" });
  assert.ok(!alias.includes(gone), `${bridge} is still there`);
});

test("addresses come round late, and no two have the same", (t) => {
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
  // s3 was given out before s7, whose place was taken last.
  assert.equal(addresses.take("n", "late", []), given[3]);
});

test("rules name only chains of their own", () => {
  const port = {
    protocol: "udp",
    address: "",
    port: 53,
    sandbox: "s",
    targetAddress: "10.9.2.1",
    targetPort: 5353,
  };
  const text = portRules("dray-9", "10.9.0.0/16", [port])
    .map(([, rules]) => rules)
    .join("");
  assert.match(
    text,
    /-A dray-9-ports -p udp --dport 53 -m comment --comment s -j DNAT --to-destination 10.9.2.1:5353\n/,
  );
  for (const line of text.split("\n").filter((one) => /^[-:]/.test(one)))
    assert.match(line, /^(-A |:)dray-9-/);
});
