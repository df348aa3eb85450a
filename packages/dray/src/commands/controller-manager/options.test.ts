import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createAuthority, createSigningKey } from "@dray/apiserver";
import { inFolder } from "../../testing/program.ts";
import { type ControllerFlags, controllerOptions } from "./options.ts";

const mistakes: readonly [flags: ControllerFlags, message: RegExp][] = [
  [
    { controllers: "*,-jobs" },
    /^--controllers \*,-jobs: jobs is not a controller: use \* or any of .*job-con/,
  ],
  [
    { clusterSigningCertFile: "a" },
    /^--cluster-signing-cert-file and --cluster-signing-key-file must be given together$/,
  ],
  [{ rootCaFile: "package.json" }, /^--root-ca-file package.json: must hold certificates in PEM form: /],
  [
    { serviceAccountPrivateKeyFile: "package.json" },
    /^--service-account-private-key-file package.json: must hold a private key in PEM form: /,
  ],
  [{ allocateNodeCidrs: true }, /^--allocate-node-cidrs needs --cluster-cidr, such as 10.244.0.0\/16$/],
  [{ terminatedPodGcThreshold: "-1" }, /^--terminated-pod-gc-threshold -1: /],
  [{ allocateNodeCidrs: "maybe" }, /^--allocate-node-cidrs maybe: must be true or false$/],
  [{ allocateNodeCidrs: true, clusterCidr: "10.0.0.0" }, /^--cluster-cidr 10.0.0.0: .* is not a network/],
  [
    { allocateNodeCidrs: true, clusterCidr: "10.0.0.0/16", nodeCidrMaskSize: "8" },
    /^--cluster-cidr 10.0.0.0\/16: nodes cannot get a \/8 of .*: use a prefix length from 16 to 32$/,
  ],
  [
    { allocateNodeCidrs: true, clusterCidr: "10.0.0.0/16,fd00::/48", nodeCidrMaskSize: "24" },
    /^--node-cidr-mask-size is for one network/,
  ],
];

for (const [flags, message] of mistakes)
  test(`controller-manager refuses ${JSON.stringify(flags)}`, () =>
    assert.rejects(controllerOptions(flags), { name: "UsageError", message }));

test("controller-manager reads the files of its flags", () =>
  inFolder(async (folder) => {
    const { certificate, key } = await createAuthority("ca", Date.now());
    const accountKey = await createSigningKey();
    const file = (name: string, text: string): string => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    };
    const options = await controllerOptions({
      controllers: "*,-nodeipam,bootstrapsigner",
      clusterSigningCertFile: file("ca.crt", certificate),
      clusterSigningKeyFile: file("ca.key", key),
      clusterSigningDuration: "1h",
      rootCaFile: join(folder, "ca.crt"),
      serviceAccountPrivateKeyFile: file("sa.key", accountKey),
      allocateNodeCidrs: "true",
      clusterCidr: "10.244.0.0/16",
      terminatedPodGcThreshold: "500",
    });
    assert.deepEqual(options, {
      controllers: ["*", "-nodeipam", "bootstrapsigner"],
      signing: { certificate, key, duration: 3_600_000 },
      rootCA: certificate,
      serviceAccountKey: accountKey,
      nodeIpam: { clusterCIDRs: ["10.244.0.0/16"], maskSizes: {} },
      podGarbage: { maxTerminatedPods: 500 },
    });
  }));
