import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import { find } from "../isolation.ts";
import { realPath } from "../view.ts";
import { installLoader } from "./library.ts";
import { planPaths, tableText } from "./path-table.ts";
import { addLoaderVariables, type LoaderSettings } from "./variables.ts";

// Addresses and paths of this process, so that runs of this test at once do not meet.
const [second, third] = [process.pid & 63, (process.pid >> 6) & 255];
const addresses = { ip: `127.${128 + second}.${third}.9`, loopback: `127.${2 + second}.${third}.9` };
const volume = "/var/run/secrets/kubernetes.io/serviceaccount";

interface Started {
  /** Folder of the machine in place of `volume`. */
  readonly folder: string;
  run(argv: readonly string[]): SpawnSyncReturns<string>;
  /** Runs a module that prints one JSON value. */
  node(source: string): unknown;
}

async function started(t: TestContext, settings: Partial<LoaderSettings> = {}): Promise<Started | undefined> {
  const root = mkdtempSync("/tmp/dk-");
  t.after(() => rmSync(root, { recursive: true }));
  const loader = await installLoader(root);
  if ("reason" in loader) {
    t.skip(loader.reason);
    return undefined;
  }
  const folder = join(root, "volume");
  mkdirSync(folder);
  writeFileSync(join(folder, "token"), "secret");
  symlinkSync("token", join(folder, "link"));
  writeFileSync(join(root, "hosts"), `127.64.0.9\tweb.default.svc web # no\nfd00::9 web\n`);
  const mounts = [
    { containerPath: volume, hostPath: folder, readOnly: false },
    { containerPath: "/etc/hosts", hostPath: join(root, "hosts"), readOnly: false },
  ];
  const plan = planPaths(mounts, join(root, "paths"), { exists: existsSync, real: realPath });
  for (const [path, target] of plan.links) {
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(target, path);
  }
  const env: Record<string, string> = { PATH: process.env["PATH"] ?? "" };
  addLoaderVariables(
    env,
    { library: loader.path, addresses, firstFreePort: 1024, ...settings },
    tableText(plan),
  );
  const run: Started["run"] = ([program = "", ...args]) =>
    spawnSync(program, args, { env, encoding: "utf8", timeout: 60_000 });
  return {
    folder,
    run,
    node(source) {
      const { stdout, stderr } = run([process.execPath, "--input-type=module", "-e", source]);
      assert.equal(stderr, "");
      return JSON.parse(stdout);
    },
  };
}

const sockets = `
import net from "node:net";
const listen = (port, host) => new Promise((resolve) => {
  const server = net.createServer((socket) => socket.end(JSON.stringify([name, socket.remoteAddress])));
  const name = String(host);
  server.once("error", (error) => resolve(error.code)).listen(port, host, () => resolve(server));
});
const ask = (port, host) => new Promise((resolve) => {
  const socket = net.connect(port, host);
  let text = "";
  socket.on("data", (data) => { text += data; }).once("end", () => resolve(JSON.parse(text)));
  socket.once("error", (error) => resolve(error.code));
});
const print = (value) => process.stdout.write(JSON.stringify(value), () => process.exit());
`;

test("a listener on all addresses gets its pod's, and is found at localhost", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  const found = pod.node(`${sockets}
    const all = await listen(8080);
    const own = await listen(8080, "127.0.0.1");
    const again = await listen(8080, "0.0.0.0");
    print([all.address().address, own.address(), again, await ask(8080, "127.0.0.1"), await ask(8080, "::1"),
      await ask(8080, "${addresses.ip}"), await ask(8081, "localhost"), await ask(8080, "127.64.255.254")]);`);
  assert.deepEqual(found, [
    `::ffff:${addresses.ip}`,
    { address: "127.0.0.1", family: "IPv4", port: 8080 },
    "EADDRINUSE",
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "127.0.0.1"],
    ["undefined", `::ffff:${addresses.ip}`],
    "ECONNREFUSED",
    "ECONNREFUSED",
  ]);
});

test("a listener for IPv6 alone can be beside the one for IPv4", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  const found = pod.node(`${sockets}
    const alone = { ipv6Only: true, host: "::", port: 8080 };
    const six = net.createServer().listen(alone).on("listening", async () => {
      const four = await listen(8080, "0.0.0.0");
      print([six.address().address, four.address().address, await ask(8080, "::1")]);
    });`);
  assert.deepEqual(found, ["::1", addresses.ip, ["0.0.0.0", "127.0.0.1"]]);
});

test("two pods listen on one port", async (t) => {
  const one = await started(t);
  const loopback = addresses.loopback.replace(/9$/, "10");
  const other = await started(t, { addresses: { ip: addresses.ip.replace(/9$/, "10"), loopback } });
  if (one === undefined || other === undefined) return;
  for (const host of ["0.0.0.0", "::", "127.0.0.1"]) {
    const ask = `${sockets} const server = await listen(8082, "${host}"); `;
    // The first one listens as long as the other runs.
    const { stdout } = one.run([
      process.execPath,
      "--input-type=module",
      "-e",
      `${ask} import { spawnSync } from "node:child_process";
       const env = { ...process.env, DRAY_LOADER: "address=${other.folder && addresses.ip.replace(/9$/, "10")} loopback=${loopback}" };
       const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e",
         ${JSON.stringify(`${ask} print([typeof server, await ask(8082, "localhost")]);`)}], { env, encoding: "utf8" });
       print(JSON.parse(stdout));`,
    ]);
    const peer = host === "::" ? "::ffff:127.0.0.1" : "127.0.0.1";
    assert.deepEqual(JSON.parse(stdout), ["object", [host, peer]], host);
  }
});

test("a port that needs a privilege is served in its place, and found as itself", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  const found = pod.node(`${sockets}
    import { readFileSync } from "node:fs";
    const server = await listen(80);
    const line = readFileSync("/proc/net/tcp6", "utf8").split("\\n").some((one) => /:FC50 .* 0A /.test(one));
    print([server.address().port, line, await ask(80, "localhost"), await ask(80, "${addresses.ip}"),
      await ask(64592, "${addresses.ip}")]);`);
  const answer = ["undefined", `::ffff:${addresses.ip}`];
  assert.deepEqual(found, [80, true, ["undefined", "::ffff:127.0.0.1"], answer, answer]);
});

test("with the machine's network, addresses stay as they are", async (t) => {
  const pod = await started(t, { addresses: undefined });
  if (pod === undefined) return;
  const found = pod.node(`${sockets}
    const server = await listen(0, "127.0.0.1");
    const low = await listen(81, "127.213.1.9");
    print([server.address().address, low.address(), await ask(81, "127.213.1.9")]);`);
  assert.deepEqual(found, [
    "127.0.0.1",
    { address: "127.213.1.9", family: "IPv4", port: 81 },
    ["127.213.1.9", "127.0.0.1"],
  ]);
});

test("datagrams reach the pod's own receiver at localhost", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  const found = pod.node(`
    import dgram from "node:dgram";
    const server = dgram.createSocket("udp4");
    server.on("message", (message, { port, address }) => server.send("pong", port, address)).bind(5353, () => {
      const client = dgram.createSocket("udp4");
      client.on("message", (message) => {
        process.stdout.write(JSON.stringify([server.address(), String(message)]), () => process.exit());
      });
      client.send("ping", 5353, "127.0.0.1");
    });`);
  assert.deepEqual(found, [{ address: addresses.ip, family: "IPv4", port: 5353 }, "pong"]);
});

/** Servers of this process, at a port of an address of the machine; `heard` resolves with who has called. */
async function servers(t: TestContext, address: string) {
  const clients: string[] = [];
  const stream = createServer((socket) => {
    clients.push(`tcp ${socket.remoteAddress}`);
    socket.destroy();
  }).listen(0, address);
  const datagrams = createSocket("udp4", (message, from) => clients.push(`${message} ${from.address}`));
  await once(stream, "listening");
  const { port } = stream.address() as AddressInfo;
  datagrams.bind(port, address);
  await once(datagrams, "listening");
  t.after(() => {
    stream.close();
    datagrams.close();
  });
  const heard = (count: number): Promise<readonly string[]> =>
    eventuallyPasses(() => {
      assert.equal(clients.length, count);
      return clients.splice(0).sort();
    });
  return { address, port, heard };
}

test("connections and datagrams to this machine come from the address of the pod", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  for (const address of ["127.0.0.1", `127.213.${second}.${third}`]) {
    const { port, heard } = await servers(t, address);
    pod.node(`${sockets}
      import dgram from "node:dgram";
      await new Promise((resolve) => net.connect(${port}, "${address}", resolve));
      const [one, other] = [dgram.createSocket("udp4"), dgram.createSocket("udp4").bind(0, "127.0.0.1")];
      await new Promise((resolve) => one.send("udp", ${port}, "${address}", resolve));
      await new Promise((resolve) => other.send("bound", ${port}, "${address}", resolve));
      print(true);`);
    assert.deepEqual(
      await heard(3),
      ["bound 127.0.0.1", `tcp ${addresses.ip}`, `udp ${addresses.ip}`],
      address,
    );
  }
});

test("a connected socket of datagrams sends from the pod's address, and then elsewhere", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  if (find("python3") === undefined) return t.skip("no python3");
  const { address, port, heard } = await servers(t, `127.213.${second}.${third}`);
  const { stderr } = pod.run([
    "python3",
    "-c",
    `import errno, socket
def outside(send):
  try: send(("192.0.2.1", 53))
  except OSError as error: assert error.errno == errno.ENETUNREACH, error
server = ("${address}", ${port})
for family, prefix in ((socket.AF_INET, ""), (socket.AF_INET6, "::ffff:")):
  client = socket.socket(family, socket.SOCK_DGRAM)
  client.connect((prefix + server[0], server[1]))
  client.send(b"connected")
  outside(lambda to: client.connect((prefix + to[0], to[1])))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(b"sendto", server)
client.sendmsg([b"sendmsg"], [(socket.IPPROTO_IP, socket.IP_TOS, b"\\x10\\0\\0\\0")], 0, server)
packet_info = b"".join((bytes(4), socket.inet_aton("127.0.0.1"), bytes(4)))
client.sendmsg([b"named"], [(socket.IPPROTO_IP, 8, packet_info)], 0, server)
outside(lambda to: client.sendto(b"outside", to))`,
  ]);
  assert.equal(stderr, "");
  assert.deepEqual(await heard(5), [
    ...[`connected ${addresses.ip}`, `connected ${addresses.ip}`, "named 127.0.0.1"],
    ...[`sendmsg ${addresses.ip}`, `sendto ${addresses.ip}`],
  ]);
});

test("programs find volumes at their paths", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  const found = pod.node(`
    import fs from "node:fs";
    import net from "node:net";
    import { execFileSync } from "node:child_process";
    const volume = "${volume}";
    fs.mkdirSync(volume + "/a/b", { recursive: true });
    await fs.promises.writeFile(volume + "/a/b/c", "1");
    fs.renameSync(volume + "/a/b/c", volume + "/a/b/d");
    fs.writeFileSync(volume + "/tool", "#!/bin/sh\\necho tool\\n", { mode: 0o755 });
    process.chdir(volume + "/a");
    const server = net.createServer().listen(volume + "/socket", () => net.connect(volume + "/socket", () => {
      process.stdout.write(JSON.stringify([
        fs.readFileSync(volume + "/token", "utf8"), fs.readdirSync("/run/secrets/kubernetes.io"),
        fs.realpathSync(volume + "/link").endsWith("/run/secrets/kubernetes.io/serviceaccount/token"), fs.realpathSync.native(volume + "/link"), process.cwd(),
        fs.readFileSync("b/d", "utf8"), fs.readFileSync("../token", "utf8"), fs.existsSync(volume + "/none"),
        fs.statSync(volume + "/../serviceaccount//token").size, String(execFileSync(volume + "/tool")),
      ]), () => process.exit());
    }));`);
  assert.deepEqual(found, [
    "secret",
    ["serviceaccount"],
    true,
    `${volume}/token`,
    `${volume}/a`,
    "1",
    "secret",
    false,
    6,
    "tool\n",
  ]);
  assert.equal(readFileSync(join(pod.folder, "a/b/d"), "utf8"), "1");
});

/** Programs of the machine, each with the output that it has to have. */
const tools: readonly (readonly [script: string, output: string])[] = [
  ["cat token; cat < token", "secretsecret"],
  [
    "echo more > x; cp x y; mv y z; ln -s $PWD/z l; readlink l; cat l; rm x l z; ls",
    "V/z\nmore\nlink\ntoken\n",
  ],
  [
    "mkdir -p V/p/q/r; touch p/q/r/s; chmod 600 p/q/r/s; find V/p -type f; rm -r p; rmdir p 2>/dev/null || pwd",
    "V/p/q/r/s\nV\n",
  ],
  [
    "ls -a /run/secrets/kubernetes.io/ | tail -1; test -r V/token && test ! -e V/none && echo ok",
    "serviceaccount\nok\n",
  ],
  [
    "t=$(mktemp V/XXXXXX); test -f $t && rm V/[a-zA-Z0-9]?????; realpath V/../serviceaccount/link | grep -c serviceaccount/token$",
    "1\n",
  ],
  [
    "tar cf - -C V token | tar xOf -; grep -r secret V; sed -i s/secret/s/ token; cat token",
    "secretV/token:secret\ns",
  ],
  ["printf '#!/bin/sh\\necho ran\\n' > run; chmod +x run; PATH=V:$PATH; run; env run; rm run", "ran\nran\n"],
  ["getent hosts WEB.default.svc | cut -d' ' -f1", "127.64.0.9\n"],
];

test("shells and tools of the machine find volumes at their paths, and names", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  for (const [script, output] of tools) {
    writeFileSync(join(pod.folder, "token"), "secret");
    const { stdout, stderr } = pod.run(["/bin/sh", "-c", `cd ${volume}; ${script.replaceAll("V", volume)}`]);
    assert.deepEqual([stdout, stderr], [output.replaceAll("V", volume), ""], script);
  }
});

test("Python finds volumes, names and ports", async (t) => {
  const pod = await started(t);
  if (pod === undefined) return;
  if (find("python3") === undefined) return t.skip("no python3");
  const { stdout, stderr } = pod.run([
    "python3",
    "-c",
    `import os, socket, tempfile
volume = "${volume}"
with tempfile.NamedTemporaryFile(dir=volume) as file: made = os.path.exists(file.name)
os.chdir(volume)
server = socket.create_server(("", 80))
client = socket.socket()
client.setblocking(False)
print(open("token").read(), sorted(os.listdir(volume)), os.getcwd() == volume, made, server.getsockname(),
  client.connect_ex(("127.0.0.1", 80)), client.getpeername(), socket.gethostbyname("web"))`,
  ]);
  assert.equal(stderr, "");
  const port = `('${addresses.ip}', 80)`;
  assert.equal(stdout, `secret ['link', 'token'] True True ${port} 0 ${port} 127.64.0.9\n`);
});

test("a machine without a loader library is named", async () => {
  assert.deepEqual(await installLoader("/tmp", { platform: "darwin", arch: "arm64" }), {
    reason: "there is no loader library for darwin on arm64",
  });
});
