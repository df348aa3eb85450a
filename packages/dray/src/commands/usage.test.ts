import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder, output, start } from "../testing/program.ts";
import { DrayCommand } from "./dray-command.ts";
import { commandLine } from "./index.ts";

const commands = commandLine().commands.filter((command) => command.name() !== "kubectl");

test("the help of every command has an example of that command", async () => {
  assert.ok(commands.length > 8);
  for (const command of commands) {
    let text = "";
    if (command instanceof DrayCommand) await command.loadHelp();
    command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
    assert.match(text, new RegExp(`Example:\\n  .*dray ${command.name()}`), command.name());
  }
});

test("--help prints to standard output and exits with 0", async () => {
  for (const args of [["--help"], ["up", "--help"]]) {
    const { code, stdout, stderr } = await dray(args);
    assert.equal(code, 0);
    assert.match(stdout, /^Usage: dray/);
    assert.equal(stderr, "");
  }
});

test("the help of --enable-admission-plugins has the plugins that are off by default", async () => {
  for (const args of [
    ["up", "--help"],
    ["help", "apiserver"],
  ]) {
    const { code, stdout } = await dray(args);
    assert.equal(code, 0);
    assert.match(
      stdout.replace(/\s+/g, " "),
      /in addition: UniqueDeviceAllocation refuses to give a device twice/,
    );
  }
});

const node = "kubelet --node-name a --kubeconfig /missing --root-dir /nowhere";
const mistakes: [args: string, message: RegExp][] = [
  [
    "frob",
    /^error: unknown command 'frob': must be one of up, down, status, .*version, help\nSee `dray --help`\.\n$/,
  ],
  ["stauts", /^error: unknown command 'stauts': did you mean status\?\nSee `dray --help`\.\n$/],
  ["cel chek x", /^error: unknown command 'chek': did you mean check\?\nSee `dray cel --help`\.\n$/],
  ["cel frob", /unknown command 'frob': must be one of check, eval, help\n/],
  ["up --frob", /^error: unknown option '--frob'\nSee `dray up --help`\.\n$/],
  ["up --ndoes=3", /unknown option '--ndoes=3': did you mean --nodes\?\n/],
  ["up --qiuet", /did you mean --quiet\?/],
  ["up --detach=yes", /option '--detach' takes no value\n/],
  [
    "cel check true --kubernetes-verson 1.36",
    /did you mean --kubernetes-version\?\nSee `dray cel check --help`/,
  ],
  ["status -q -v", /'-q, --quiet' cannot be used with option '-v, --verbose'/],
  ["up more", /too many arguments for 'up'/],
  ["plan a.yaml", /too many arguments for 'plan'.* got 1: a\.yaml\. Name files with -f\n/],
  ["up --nodes many", /--nodes many: must be a whole number from 0 to \d+\nSee `dray up --help`\.\n$/],
  ["up --port 65536", /--port 65536: must be a whole number from 0 to 65535/],
  ["up --store redis", /--store redis: must be sqlite:PATH, etcd:URL or memory/],
  ["up --image nginx", /--image nginx: must be PATTERN=COMMAND, as in/],
  ["up --feature-gates DRAAdminAccess", /--feature-gates: .*DRAAdminAccess/],
  ["up --feature-gates Frob=true", /--feature-gates: .*Frob.* has .*DRAAdminAccess/],
  ["scheduler --feature-gates DRAAdminAcess=true", /gate: DRAAdminAcess: did you mean DRAAdminAccess\?/],
  ["controller-manager --feature-gates KubeletPSI=false", /KubeletPSI to false.*locked to true/],
  ["up --kubernetes-version 1.20", /--kubernetes-version: .*"1.20".* 1\.34, 1\.35/],
  ["apiserver --disable-admission-plugins Frob", /--disable-admission-plugins Frob: must be among .*PodSec/],
  ["apiserver --tls-cert-file a", /--tls-cert-file and --tls-private-key-file must be given together/],
  ["status -o table", /^error: --output table: must be one of json, yaml, kubeconfig\n/],
  ["status -o jsno", /must be one of json, yaml, kubeconfig \(did you mean json\?\)\n/],
  ["driver exmaple", /unknown command 'exmaple': did you mean example\?/],
  ["driver frob", /unknown command 'frob': must be one of example, simulate, device-plugin-example/],
  ["kubelet", /required option '--node-name <name>' not specified/],
  ["kubelet --node-name a --kubeconfig b --root-dir c", /--root-dir c: must be an absolute path/],
  ["kubelet --node-name a --kubeconfig b --root-dir /c --node-ip x", /--node-ip x: must be an IP address/],
  [
    "kubelet --node-name a --kubeconfig b --root-dir /c --node-ip 192.0.2.9",
    /an address of this machine; it has/,
  ],
  [
    "kubelet --node-name a --kubeconfig b --root-dir /c --address 192.0.2.9",
    /--address 192.0.2.9: must be an/,
  ],
  ["kubelet --node-name a --kubeconfig b --root-dir /c --max-pods many", /--max-pods many: must be a whole/],
  ["kubelet --node-name a --kubeconfig b --root-dir /c --port 65536", /--port 65536: must be a whole number/],
  [
    "kubelet --node-name a --kubeconfig b --root-dir /c --port 1 --port 2",
    /--port is given 2 times for 1 nodes/,
  ],
  [
    `${node} --shutdown-grace-period soon`,
    /--shutdown-grace-period soon: must be 0s, or a duration of at least 1s/,
  ],
  [`${node} --shutdown-grace-period 500ms`, /--shutdown-grace-period 500ms: must be 0s, or a duration of at/],
  [
    `${node} --shutdown-grace-period 5s --shutdown-grace-period-critical-pods 1m`,
    /--shutdown-grace-period-critical-pods 1m: must be at most --shutdown-grace-period, which is 5s\n/,
  ],
  [`${node} --cluster-dns 10.96.0.10,dns`, /--cluster-dns dns: must be an IP address, as in 10\.96\.0\.10\n/],
  [
    `${node} --cluster-domain Cluster_local`,
    /--cluster-domain Cluster_local: must be a domain of lower-case/,
  ],
  [`${node} --resolv-conf none`, /--resolv-conf none: must be the absolute path of a file that is there\n/],
  [
    `${node} --eviction-hard memory.free<1Gi`,
    /^error: --eviction-hard: unknown signal memory\.free: must be one of memory\.available, nodefs\.available/,
  ],
  [
    `${node} --eviction-hard memory.available=1Gi`,
    /--eviction-hard memory\.available=1Gi: must be SIGNAL<VALUE\n/,
  ],
  [
    `${node} --eviction-hard memory.available<lots`,
    /--eviction-hard: memory\.available<lots: must be an amount/,
  ],
  [
    `${node} --eviction-soft nodefs.available<20%`,
    /--eviction-soft: a grace period of nodefs\.available is needed/,
  ],
  [
    `${node} --eviction-minimum-reclaim nodefs.available=x`,
    /--eviction-minimum-reclaim: nodefs\.available=x: must/,
  ],
  [
    `${node} --eviction-pressure-transition-period 5`,
    /--eviction-pressure-transition-period 5: must be a duration/,
  ],
  [
    `${node} --eviction-max-pod-grace-period -1`,
    /--eviction-max-pod-grace-period -1: must be a whole number from 0/,
  ],
  [
    `${node} --image-gc-high-threshold 101`,
    /--image-gc-high-threshold 101: must be a whole number from 0 to 100/,
  ],
  [
    `${node} --image-gc-low-threshold 85`,
    /--image-gc-low-threshold 85: must be less than --image-gc-high-threshold, w/,
  ],
  [
    `${node} --minimum-image-ttl-duration -1s`,
    /--minimum-image-ttl-duration -1s: must be a duration of 0s or more/,
  ],
  [
    `${node} --image-maximum-gc-age 1m`,
    /--image-maximum-gc-age 1m: must be 0s, or more than --minimum-image-ttl-dur/,
  ],
  [
    `${node} --allowed-unsafe-sysctls net.core.*,vm.swappiness`,
    /--allowed-unsafe-sysctls vm\.swappiness: not known to be kept in a name space; may be net\.\*, /,
  ],
  [`${node} --pod-max-pids 0`, /--pod-max-pids 0: must be a whole number above 0, or -1 for no limit/],
  [`${node} --node-labels zone`, /--node-labels zone: must be KEY=VALUE/],
  [`${node} --node-labels a/b/c=d`, /--node-labels a\/b\/c=d: a valid label key/],
  [
    `${node} --node-labels kubernetes.io/role=x`,
    /kubernetes\.io\/role=x: labels of kubernetes\.io and k8s\.io must be/,
  ],
  [
    `${node} --register-with-taints gpu`,
    /--register-with-taints gpu: must be KEY=VALUE:EFFECT or KEY:EFFECT, where/,
  ],
  [
    `${node} --register-with-taints a=b:Never`,
    /a=b:Never: must be KEY=VALUE:EFFECT .* one of NoSchedule, Prefer/,
  ],
  [
    `${node} --register-with-taints a:NoExecute,a=1:NoExecute`,
    /a=1:NoExecute: there is one with the same key and/,
  ],
  [
    `${node} --container-log-max-size 0`,
    /--container-log-max-size 0: must be an amount of bytes above 0, such as/,
  ],
  [`${node} --container-log-max-files 1`, /--container-log-max-files 1: must be a whole number from 2/],
  [
    `${node} --topology-manager-policy restricted`,
    /restricted: is not supported: must be none or best-effort/,
  ],
  [`${node} --topology-manager-policy x`, /--topology-manager-policy x: must be none or best-effort/],
  [`${node} --dra-wipe-delay 0s`, /--dra-wipe-delay 0s: must be a duration above 0/],
  [`${node} --pod-manifest-path here`, /--pod-manifest-path here: must be an absolute path/],
  ["kubectl frob", /unknown verb frob: must be one of get, apply/],
];
test("a mistake in the usage exits with 2, says what is accepted and writes nothing", async () => {
  await inFolder(async (folder) => {
    const data = join(folder, "data");
    const results = await Promise.all(
      mistakes.map(async ([line]) => dray(line.split(" "), { DRAY_DATA_DIR: data })),
    );
    for (const [i, [line, message]] of mistakes.entries()) {
      const { code, stdout, stderr } = results[i]!;
      assert.deepEqual({ line, code, stdout }, { line, code: 2, stdout: "" });
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /\n +at /);
    }
    assert.deepEqual(readdirSync(folder), []);
  });
});

test("--version and -V print the version, wherever they are", async () => {
  const runs = await Promise.all(
    [["--version"], ["-V"], ["up", "--nodes", "many", "-V"]].map((args) => dray(args)),
  );
  for (const { code, stdout, stderr } of runs) {
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^dray \d+\.\d+\.\d+\n$/);
  }
});

test("-q leaves data and errors, -v adds causes and -vv the stack", async () => {
  await inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "none")];
    const [down, status, ok, causes, stack] = await Promise.all([
      dray(["down", "-q", ...data]),
      dray(["status", "-q", "-o", "json", ...data]),
      dray(["plan", "-f", join(folder, "missing")]),
      dray(["-v", "plan", "-f", join(folder, "missing")]),
      dray(["plan", "-vv", "-f", join(folder, "missing")]),
    ]);
    assert.deepEqual([down.code, down.stdout, down.stderr], [0, "", ""]);
    assert.deepEqual([status.code, JSON.parse(status.stdout).running], [1, false]);
    assert.doesNotMatch(ok.stderr, /\n +at /);
    assert.doesNotMatch(causes.stderr, /\n +at /);
    assert.match(stack.stderr, /\n +at /);
  });
});

test("a gate of Kubernetes that changes nothing here is taken with one line of warning", async () => {
  const gates = "MemoryQoS=true,OpenAPIEnums=false,DRAAdminAccess=true";
  const missing = ["--feature-gates", gates, "--kubeconfig", "/nonexistent"];
  const runs = [
    ["cel", "check", "true", "--feature-gates", gates],
    ["scheduler", ...missing],
    ["controller-manager", ...missing],
  ];
  const results = await Promise.all(runs.map((args) => dray(args)));
  for (const [i, { code, stderr }] of results.entries()) {
    const [first, second = ""] = stderr.split("\n");
    assert.equal(first, "warning: --feature-gates: MemoryQoS, OpenAPIEnums change nothing in Dray");
    // The flag is read first.
    assert.match(second, i === 0 ? /^$/ : /^error: kubeconfig \S+: there is no such file/);
    assert.equal(code, i === 0 ? 0 : 1);
  }
  const quiet = await dray(["cel", "check", "true", "-q", "--feature-gates", gates]);
  assert.equal(quiet.stderr, "");
});

test("version says the same for people and for programs", async () => {
  const [text, json, yaml] = await Promise.all([
    dray(["version"]),
    dray(["version", "-o", "json"]),
    dray(["version", "-o", "yaml"]),
  ]);
  const facts = JSON.parse(json.stdout) as { dray: string; node: string; kubernetes: string[] };
  assert.equal(facts.node, process.versions.node);
  assert.ok(facts.kubernetes.includes("1.36"));
  assert.equal(
    text.stdout,
    `dray ${facts.dray}, Node ${facts.node}, Kubernetes ${facts.kubernetes.join(", ")}\n`,
  );
  const { parse } = await import("yaml");
  assert.deepEqual(parse(yaml.stdout), facts);
});

test("without a cluster status exits with 1, down with 0, both with a message", async () => {
  await inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "none")];
    const [text, json, kubeconfig, down] = await Promise.all([
      dray(["status", ...data]),
      dray(["status", "-o", "json", ...data]),
      dray(["status", "-o", "kubeconfig", ...data]),
      dray(["down", "--delete-data", ...data]),
    ]);
    assert.equal(text.code, 1);
    assert.match(text.stdout, /there is no cluster in .*none: `dray up --data-dir \S+none` makes one/);
    assert.equal(json.code, 1);
    const { name, state, running, dataDir } = JSON.parse(json.stdout) as Record<string, unknown>;
    assert.deepEqual([name, state, running, dataDir], ["dray", "none", false, join(folder, "none")]);
    assert.equal(kubeconfig.code, 1);
    assert.match(kubeconfig.stderr, /there is no cluster/);
    assert.equal(down.code, 0);
    assert.match(down.stdout, /does not exist/);
  });
});

test("a data directory that cannot be written is named", async () => {
  // Not even root can make a folder there.
  const dataDir = "/sys/dray";
  const { code, stderr } = await dray(["up", "--detach", "--data-dir", dataDir]);
  assert.equal(code, 1);
  assert.ok(stderr.startsWith(`error: the data directory ${dataDir} cannot be written: `), stderr);
  assert.match(stderr, /name another with --data-dir\n$/);
});

test("a reader that closes standard output does not cause a failure", async () => {
  const child = start(["--help"]);
  child.stdout?.destroy();
  const { code, stderr } = await output(child);
  assert.deepEqual([code, stderr], [0, ""]);
});
