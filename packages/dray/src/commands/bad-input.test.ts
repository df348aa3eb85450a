import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder } from "../testing/program.ts";

/**
 * Creates the inputs: `file`, a text; `folder`, empty; `damaged/cluster.json` and others that are not
 * configurations.
 */
function prepare(folder: string): void {
  writeFileSync(join(folder, "file"), "some text\n");
  for (const name of ["folder", "damaged", "number", "list"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "damaged", "cluster.json"), "{");
  writeFileSync(join(folder, "number", "cluster.json"), '{"nodes":3}');
  writeFileSync(join(folder, "list", "cluster.json"), "[]");
  writeFileSync(
    join(folder, "scheduler.yaml"),
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 0\nprofiles: [{plugin: {}}]\n",
  );
}

const up = "up --detach --nodes 0 --store memory";
const cases: [line: string, message: RegExp][] = [
  [
    "up --runtime docker",
    /^error: --runtime docker: must be host, oci, or cri:SOCKET, as in cri:\/run\/containerd\/containerd.sock\n/,
  ],
  [
    "up --registry-hosts $/folder",
    /^error: --registry-hosts \$\/folder: only the runtime oci fetches images itself, and this is host: add --runtime oci\n/,
  ],
  ["up --host-network pod", /^error: --host-network pod: must be node or machine\n/],
  [
    "up --host-network node",
    /^error: --host-network node: only the runtime oci makes a network for each node, and this is host: add --runtime oci\n/,
  ],
  [
    "up --allowed-unsafe-sysctls net.core.*,vm.swappiness",
    /^error: --allowed-unsafe-sysctls vm\.swappiness: not known to be kept in a name space; may be net\.\*, /,
  ],
  ["up --runtime cri:a.sock", /^error: --runtime cri:a.sock: the path of the socket must be absolute\n/],
  ...["up --detach", "down", "status", "logs", "apiserver --port 0"].flatMap(
    (command): [string, RegExp][] => [
      [
        `${command} --data-dir $/file`,
        /^error: the data directory \$\/file must be a folder, and is a file: name another with --data-dir$/,
      ],
      [
        `${command} --data-dir $/file/below`,
        /^error: the data directory \$\/file\/below lies below a file: name another with --data-dir$/,
      ],
    ],
  ),
  ...["up --detach", "status", "logs", "apiserver --port 0"].flatMap((command): [string, RegExp][] => [
    [
      `${command} --data-dir $/damaged`,
      /^error: \$\/damaged\/cluster\.json cannot be read: .*JSON.*; delete it to start with defaults$/,
    ],
    [
      `${command} --data-dir $/number`,
      /^error: \$\/number\/cluster\.json cannot be read: nodes must be a list of texts, and is 3; delete it/,
    ],
    [
      `${command} --data-dir $/list`,
      /^error: \$\/list\/cluster\.json cannot be read: it must be an object; delete it/,
    ],
  ]),
  [
    `${up} --data-dir $/new-a --kubeconfig $/file`,
    /^error: the kubeconfig \$\/file is malformed, and left as it is: /,
  ],
  [`${up} --data-dir $/new-b --kubeconfig $/folder`, /^error: .*\$\/folder/],
  ["up --detach --nodes 0 --store sqlite:$/folder --data-dir $/new-c", /^error: .*\$\/folder/],
  ["up --detach --nodes 0 --store sqlite:$/file --data-dir $/new-d", /^error: .*\$\/file/],
  [
    "apiserver --port 0 --data-dir $/new-e --tls-cert-file $/missing --tls-private-key-file $/file",
    /^error: .*--tls-cert-file.*\$\/missing/,
  ],
  ...["scheduler", "controller-manager"].flatMap((command): [string, RegExp][] => [
    [`${command} --kubeconfig $/missing`, /^error: kubeconfig \$\/missing: there is no such file$/],
    [`${command} --kubeconfig $/folder`, /^error: kubeconfig \$\/folder: must be a file, and is a folder$/],
    [`${command} --kubeconfig $/file`, /^error: \$\/file: /],
  ]),
  ["scheduler --config $/missing", /^error: --config \$\/missing: there is no such file\n/],
  ["scheduler --config $/folder", /^error: --config \$\/folder: must be a file, and is a folder\n/],
  [
    "scheduler --config $/file",
    /^error: \$\/file: must be an object of kind KubeSchedulerConfiguration, kubescheduler\.config\.k8s\.io\/v1/,
  ],
  [
    "scheduler --config $/scheduler.yaml",
    /^error: \$\/scheduler\.yaml:\n {2}profiles\[0\]\.plugin: Forbidden: unknown field; fields are .*\n {2}parallelism: Invalid value: 0: should be/,
  ],
  [
    "up --detach --data-dir $/new-f --scheduler-config $/missing",
    /^error: --scheduler-config \$\/missing: there is no such file\n/,
  ],
  [
    "up --detach --data-dir $/new-g --scheduler-config $/scheduler.yaml",
    /^error: \$\/scheduler\.yaml:\n {2}profiles\[0\]\.plugin: Forbidden: unknown field; fields are .*\n {2}parallelism: Invalid value: 0/,
  ],
  ["scheduler --leader-elect maybe", /^error: --leader-elect maybe: must be true or false/],
  ["scheduler --port many", /^error: --port many: must be a whole number/],
  [
    "kubelet --node-name a --kubeconfig $/missing --root-dir $/root",
    /^error: kubeconfig \$\/missing: there is no such file$/,
  ],
  ["kubelet --node-name a --kubeconfig $/file --root-dir $/root", /^error: \$\/file: /],
  [
    "kubelet --node-name a --kubeconfig $/file --root-dir $/root --client-ca-file $/missing",
    /^error: --client-ca-file \$\/missing: there is no such file\n/,
  ],
  ["plan -f $/missing", /^error: \$\/missing: there is no such file or directory/],
  ["plan -f $/folder", /^error: \$\/folder: the directory has no files that end in \.yaml/],
  ["plan -f $/file", /^error: \$\/file:1, document 1: must be a Kubernetes object/],
  ["plan --kubeconfig $/missing", /^error: kubeconfig \$\/missing: there is no such file$/],
  ["cel eval true -f $/missing", /^error: \$\/missing: there is no such file or directory/],
  ["cel check device.frob", /^error: .*undefined field 'frob'/],
  ["driver example", /NODE_NAME or --node-name must be the name of the node/],
  ["driver device-plugin-example --count many", /--count \\"many\\" must be an integer from 0 to 10000/],
];

test("every command reports bad input in one message with place, cause and accepted values, without a stack", () =>
  inFolder(async (folder) => {
    prepare(folder);
    const text = readFileSync(join(folder, "file"), "utf8");
    // Limits the number of processes that run at a time.
    for (let i = 0; i < cases.length; i += 4) {
      const few = cases.slice(i, i + 4);
      const results = await Promise.all(
        few.map(([line]) =>
          dray(line.replaceAll("$", folder).split(" "), { KUBECONFIG: "", HOME: folder, NODE_NAME: "" }),
        ),
      );
      for (const [j, [line, message]] of few.entries()) {
        const { code, stdout, stderr } = results[j]!;
        const said = stderr.replaceAll(folder, "$");
        // An invalid value of a component's flag is a usage error, like an unknown flag.
        const usage = said.includes("\nSee `dray ");
        assert.deepEqual([line, code, stdout], [line, usage ? 2 : 1, ""], said);
        assert.match(said.trimEnd(), message, line);
        assert.doesNotMatch(said, /\n +at |is not a function|of undefined/, line);
      }
    }
    assert.equal(readFileSync(join(folder, "file"), "utf8"), text);
    assert.deepEqual(readdirSync(join(folder, "folder")), []);
  }));

test("a cluster whose configuration is damaged can be stopped and deleted", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const env = { KUBECONFIG: "", HOME: folder };
    const started = await dray([...up.split(" "), ...data, "-o", "json"], env);
    assert.equal(started.code, 0, started.stderr);
    writeFileSync(join(folder, "data", "cluster.json"), "");
    const { code, stdout, stderr } = await dray(["down", "--delete-data", ...data], env);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^warning: \S+cluster\.json cannot be read: /);
    assert.match(stdout, /has stopped/);
    assert.equal(existsSync(join(folder, "data")), false);
  }));

test("apiserver names a port that is in use", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  await inFolder(async (folder) => {
    const { code, stderr } = await dray(["apiserver", "--data-dir", folder, "--port", `${port}`]);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^error: port ${port} of 127\\.0\\.0\\.1 is in use by another program`));
  });
  other.close();
});
