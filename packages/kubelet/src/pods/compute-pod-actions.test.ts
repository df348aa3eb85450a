import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container as ContainerSpec, Pod, PodSpec } from "@dray/api/core/v1";
import { containerHash } from "../containers/container-hash.ts";
import type { Container, Sandbox } from "../runtime/service.ts";
import { crashKey } from "./back-off.ts";
import { computePodActions } from "./compute-pod-actions.ts";
import type { PodAction, PodMemory, PodView } from "./pod-actions.ts";

const now = 1_000_000;

const sandbox: Sandbox = {
  id: "s0",
  config: { namespace: "default", name: "p", uid: "u", attempt: 0 },
  ips: ["10.0.0.1"],
  ready: true,
  createdAt: 0,
};

function container(name: string, state: Container["state"], more: Partial<Container> = {}): Container {
  const attempt = more.config?.attempt ?? 0;
  return {
    id: `${name}-${attempt}`,
    sandboxId: "s0",
    state,
    imageRef: "",
    createdAt: 0,
    startedAt: 1,
    finishedAt: state === "exited" ? now - 1000 : undefined,
    exitCode: state === "exited" ? 0 : undefined,
    reason: undefined,
    message: undefined,
    ...more,
    config: {
      name,
      attempt,
      hash: containerHash({ name, image: "i" }),
      logPath: "",
      terminationLog: "",
      ...more.config,
    },
  };
}

const memory: PodMemory = {
  failure: undefined,
  ended: false,
  restarting: false,
  stopping: new Map(),
  replaced: new Set(),
  nextAttempts: new Map(),
  setUpWait: 0,
  volumesWait: undefined,
  startWait: () => 0,
  crashBackOff: () => ({ delay: 0, left: 0 }),
};

const crashed = { exitCode: 1 };
const waits = (left: number) => ({ crashBackOff: () => ({ delay: 10_000, left }) });
const failing = { started: () => true, failed: () => ({ type: "liveness" }) };
const unstarted = { started: () => false, failed: () => undefined };
const only = (name: string, more: Partial<ContainerSpec> = {}): ContainerSpec => ({
  name,
  image: "i",
  ...more,
});
const sidecar = (name: string): ContainerSpec => only(name, { restartPolicy: "Always" });
const restartAll = only("a", {
  restartPolicy: "Never",
  restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
});

interface Case {
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: Partial<Pod["metadata"]>;
  readonly status?: Pod["status"];
  readonly sandboxes?: readonly Sandbox[];
  readonly has?: readonly Container[];
  readonly memory?: Partial<PodMemory>;
  readonly probes?: PodView["probes"];
  readonly actions: readonly string[];
  readonly waiting?: Readonly<Record<string, string>>;
  readonly lookAgain?: number;
}

const cases: Readonly<Record<string, Case>> = {
  "a new pod is set up": { sandboxes: [], actions: ["setUp"] },
  "a set-up that failed waits": { sandboxes: [], memory: { setUpWait: 500 }, actions: [], lookAgain: 500 },
  "a sandbox that is not ready is made anew": {
    sandboxes: [{ ...sandbox, ready: false }],
    has: [container("a", "exited", crashed)],
    actions: ["setUp"],
  },
  "main containers start together": {
    spec: { containers: [only("a"), only("b")] },
    actions: ["start a 0", "start b 0"],
  },
  "a start that failed waits, the other does not": {
    spec: { containers: [only("a"), only("b")] },
    memory: { startWait: (name) => (name === "a" ? 700 : 0) },
    actions: ["start b 0"],
    lookAgain: 700,
  },
  "init containers start one after the other": {
    spec: { initContainers: [only("i"), only("j")] },
    has: [container("i", "exited")],
    actions: ["start j 0"],
  },
  "an init container that runs is waited for": {
    spec: { initContainers: [only("i")] },
    has: [container("i", "running")],
    actions: ["watch i"],
  },
  "an init container that failed for good ends the pod": {
    spec: { initContainers: [only("i")], restartPolicy: "Never" },
    has: [container("i", "exited", crashed)],
    actions: ["cleanUp"],
  },
  "an init container that failed is restarted": {
    spec: { initContainers: [only("i")], restartPolicy: "OnFailure" },
    has: [container("i", "exited", crashed)],
    actions: ["start i 1"],
  },
  "init containers run again in a new sandbox": {
    spec: { initContainers: [only("i")] },
    has: [container("i", "exited", { sandboxId: "old" })],
    actions: ["start i 1"],
  },
  "a sidecar that has not started holds up the others": {
    spec: { initContainers: [sidecar("s")] },
    has: [container("s", "running")],
    probes: unstarted,
    actions: ["watch s"],
  },
  "a sidecar that has started lets the others begin": {
    spec: { initContainers: [sidecar("s")] },
    has: [container("s", "running")],
    actions: ["watch s", "start a 0"],
  },
  "a container that crashed is restarted": {
    has: [container("a", "exited", crashed)],
    actions: ["start a 1"],
  },
  "a container that crashed again waits": {
    has: [container("a", "exited", crashed)],
    memory: waits(4000),
    actions: [],
    waiting: { a: "CrashLoopBackOff" },
    lookAgain: 4000,
  },
  "one that was created and not started is made anew": {
    has: [container("a", "created", { config: { attempt: 3 } as Container["config"] })],
    actions: ["remove a", "start a 3"],
  },
  "a probe that failed for good stops its container": {
    has: [container("a", "running")],
    probes: failing,
    actions: ["watch a", "stop a 30: Container a failed liveness probe, will be restarted"],
  },
  "a container that is being stopped is let be": {
    has: [container("a", "running")],
    probes: failing,
    memory: { stopping: new Map([["a-0", now + 1]]) },
    actions: [],
  },
  "another image replaces a container, whatever the policy is": {
    spec: { containers: [only("a", { image: "new" })], restartPolicy: "Never" },
    has: [container("a", "running")],
    actions: ["watch a", "stop a 30: Container a definition changed, will be restarted"],
  },
  "what was stopped to be replaced is started": {
    spec: { containers: [only("a", { image: "new" })], restartPolicy: "Never" },
    has: [container("a", "exited", crashed)],
    memory: { replaced: new Set(["a-0"]) },
    actions: ["start a 1"],
  },
  "ephemeral containers start once, beside init containers": {
    spec: { initContainers: [only("i")], ephemeralContainers: [{ name: "e" }, { name: "f" }] },
    has: [container("i", "running"), container("e", "exited", crashed)],
    actions: ["start f 0", "watch i"],
  },
  "a pod whose containers have ended is cleaned up": {
    spec: { restartPolicy: "OnFailure" },
    has: [container("a", "exited")],
    actions: ["cleanUp"],
  },
  "sidecars end after the main containers": {
    spec: { initContainers: [sidecar("s"), sidecar("t")], restartPolicy: "Never" },
    has: [container("s", "running"), container("t", "running"), container("a", "exited")],
    actions: ["stop t 30: Stopping container t"],
  },
  "a pod that is deleted ends, with the grace of the deletion": {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 5 },
    spec: { initContainers: [sidecar("s")], containers: [only("a"), only("b")] },
    has: [container("s", "running"), container("a", "running"), container("b", "created")],
    actions: ["remove b", "stop a 5: Stopping container a"],
  },
  "a stop is hurried by a shorter grace": {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 1 },
    has: [container("a", "running")],
    memory: { stopping: new Map([["a-0", now + 20_000]]) },
    actions: ["stop a 1: Stopping container a"],
  },
  "a stop goes on that ends in time": {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 },
    has: [container("a", "running")],
    memory: { stopping: new Map([["a-0", now + 20_000]]) },
    actions: [],
  },
  "a pod that was given up ends": {
    memory: { failure: { reason: "Evicted", message: "" } },
    has: [container("a", "running")],
    actions: ["stop a 30: Stopping container a"],
  },
  "a pod that has ended is left alone": {
    memory: { ended: true, failure: { reason: "", message: "" } },
    actions: [],
  },
  "a pod of which another agent said all is cleaned up": {
    status: { phase: "Failed" },
    actions: ["cleanUp"],
  },
  "a deadline is waited for": {
    spec: { activeDeadlineSeconds: 10 },
    status: { startTime: new Date(now - 4000).toISOString() },
    has: [container("a", "running")],
    actions: ["watch a"],
    lookAgain: 6000,
  },
  "a deadline that is over gives the pod up": {
    spec: { activeDeadlineSeconds: 10 },
    status: { startTime: new Date(now - 10_000).toISOString() },
    has: [container("a", "running")],
    actions: ["fail DeadlineExceeded"],
  },
  "a rule begins to restart all": {
    spec: { containers: [restartAll, only("b")] },
    has: [container("a", "exited", { exitCode: 42 }), container("b", "running")],
    actions: ["beginRestart"],
  },
  "restarting all kills what runs": {
    spec: { containers: [restartAll, only("b")] },
    has: [container("a", "exited", { exitCode: 42 }), container("b", "running")],
    memory: { restarting: true },
    actions: ["stop b 0: Stopping container b"],
  },
  "restarting all removes what has ended, with the next attempts": {
    spec: { containers: [restartAll, only("b")] },
    has: [
      container("a", "exited", { exitCode: 42 }),
      container("b", "exited", { config: { attempt: 2 } as Container["config"] }),
    ],
    memory: { restarting: true },
    actions: ["reset a=1 b=3"],
  },
  "restarting all waits like a crash": {
    spec: { containers: [restartAll] },
    has: [container("a", "exited", { exitCode: 42 })],
    memory: { restarting: true, ...waits(900) },
    actions: [],
    lookAgain: 900,
  },
  "another image does not wait for what the one before has done": {
    spec: { containers: [only("a"), only("b", { image: "new" })] },
    has: [container("a", "exited", crashed), container("b", "exited", crashed)],
    memory: {
      crashBackOff: (key) => ({
        delay: 10_000,
        left: [only("a"), only("b")].map(crashKey).includes(key) ? 4000 : 0,
      }),
    },
    actions: ["start b 1"],
    waiting: { a: "CrashLoopBackOff" },
    lookAgain: 4000,
  },
  "after a reset containers start with their attempts": {
    spec: { containers: [restartAll] },
    memory: { nextAttempts: new Map([["a", 4]]) },
    actions: ["start a 4"],
  },
  "volumes that are due are refreshed": {
    has: [container("a", "running")],
    memory: { volumesWait: 0 },
    actions: ["refreshVolumes", "watch a"],
  },
  "a pod that was woken before its volumes are due is looked at again": {
    has: [container("a", "running")],
    memory: { volumesWait: 7 },
    actions: ["watch a"],
    lookAgain: 7,
  },
};

for (const [name, one] of Object.entries(cases))
  test(name, () => {
    const pod = {
      metadata: { namespace: "default", name: "p", uid: "u", ...one.metadata },
      spec: { containers: [only("a")], ...one.spec },
      ...(one.status === undefined ? {} : { status: one.status }),
    } as Pod;
    const has = (one.has ?? []).toSorted((a, b) => b.config.attempt - a.config.attempt);
    const plan = computePodActions({
      pod,
      now,
      sandboxes: one.sandboxes ?? [sandbox],
      containers: Map.groupBy(has, ({ config }) => config.name),
      memory: { ...memory, ...one.memory },
      probes: one.probes ?? { started: () => true, failed: () => undefined },
    });
    assert.deepEqual(plan.actions.map(text), one.actions);
    assert.deepEqual(
      Object.fromEntries([...plan.waiting].map(([container, { reason }]) => [container, reason])),
      one.waiting ?? {},
    );
    assert.equal(plan.lookAgain, one.lookAgain);
  });

function text(action: PodAction): string {
  switch (action.type) {
    case "start":
      return `start ${action.spec.name} ${action.attempt}`;
    case "stop":
      return `stop ${action.spec.name} ${action.graceSeconds}: ${action.message}`;
    case "watch":
      return `watch ${action.spec.name}`;
    case "remove":
      return `remove ${action.container.config.name}`;
    case "fail":
      return `fail ${action.reason}`;
    case "reset":
      return `reset ${[...action.attempts].map(([name, attempt]) => `${name}=${attempt}`).join(" ")}`;
    default:
      return action.type;
  }
}
