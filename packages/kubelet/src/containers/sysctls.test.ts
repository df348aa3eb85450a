import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { SysctlAllowlist, SysctlPatternError } from "./sysctls.ts";

const podWith = (name: string, spec: Partial<PodSpec> = {}): Pod =>
  partial<Pod>({
    spec: { containers: [], ...spec, securityContext: { sysctls: [{ name, value: "1" }] } },
  });

const onLinux = { skip: process.platform !== "linux" && "sysctls are Linux's" };

test("a pod sets the safe sysctls of its own name spaces, and those that are allowed beside", onLinux, () => {
  const list = new SysctlAllowlist([
    "net.core.*",
    "kernel.msg*",
    "net.ipv4.ip_forward",
    "user.max_pid_namespaces",
  ]);
  const refusal = (name: string, spec?: Partial<PodSpec>) => list.refusal(podWith(name, spec))?.message;
  for (const name of [
    "kernel.shm_rmid_forced",
    "net/ipv4/tcp_syncookies",
    "net.core.somaxconn",
    "kernel.msgmax",
    "net.ipv4.ip_forward",
  ])
    assert.equal(refusal(name), undefined, name);
  assert.equal(refusal("kernel.shmmax"), 'forbidden sysctl: "kernel.shmmax" not allowlisted');
  assert.equal(refusal("net.ipv4.ip_forward_x"), 'forbidden sysctl: "net.ipv4.ip_forward_x" not allowlisted');
  for (const [name, spec, namespace] of [
    ["net.core.somaxconn", { hostNetwork: true }, "Net"],
    ["kernel.shm_rmid_forced", { hostIPC: true }, "IPC"],
    ["user.max_pid_namespaces", {}, "User"],
  ] as const)
    assert.equal(
      refusal(name, spec),
      `forbidden sysctl: "${name}" not allowed with host ${namespace} enabled`,
    );
  assert.equal(refusal("user.max_pid_namespaces", { hostUsers: false }), undefined);
  assert.equal(new SysctlAllowlist().refusal(podWith("kernel.msgmax"))?.reason, "SysctlForbidden");
});

test("patterns that are malformed, or for the whole machine, are refused", () => {
  for (const text of ["", "net.*.x", "Net.core", "kernel.panic", "*", "vm.*", `net.${"a".repeat(300)}`])
    assert.throws(() => new SysctlAllowlist([text]), SysctlPatternError, text);
});
