/**
 * A control plane in processes of its own: Dray's API server, or etcd and kube-apiserver; around either of
 * them the real kube-controller-manager and kube-scheduler, as the users that kubeadm gives them.
 */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { freePorts } from "@dray/testing/ports";
import { connect, Users } from "./credentials.ts";
import { peer } from "./peers.ts";
import { type Program, start } from "./processes.ts";
import { type Server, type Side, startServer } from "./server.ts";

export interface ControlPlane {
  readonly side: Side;
  /** Kubeconfig of an administrator. */
  readonly kubeconfig: string;
  readonly admin: Client;
  readonly users: Users;
  readonly programs: readonly Program[];
  stop(): Promise<void>;
}

/** Settings of a control plane that differ from its release's defaults. */
export interface Features {
  /** Gates that are on, in every component. */
  readonly gates?: readonly string[];
  /** API versions that are served. */
  readonly versions?: readonly string[];
  /** Gates that are on in the scheduler only. */
  readonly schedulerGates?: readonly string[];
  /** Lets components ask as much as they can: by default a controller makes ten claims a second. */
  readonly unlimited?: boolean;
  /** More flags of the API server. */
  readonly serverFlags?: readonly string[];
}

/** The flags of an API server with these gates on and these versions served. */
export const featureFlags = (gates: readonly string[], versions: readonly string[] = []): string[] => [
  ...(gates.length === 0 ? [] : [`--feature-gates=${gates.map((gate) => `${gate}=true`).join(",")}`]),
  ...(versions.length === 0
    ? []
    : [`--runtime-config=${versions.map((version) => `${version}=true`).join(",")}`]),
];

/** Starts all of it below `folder`, and waits until the API server is ready and the node roles are there. */
export async function startControlPlane(
  side: Side,
  folder: string,
  features: Features = {},
): Promise<ControlPlane> {
  mkdirSync(folder, { recursive: true });
  const { gates = [], versions, serverFlags = [] } = features;
  const flags = [...featureFlags(gates, versions), ...serverFlags];
  const server = await startServer(side, folder, { flags });
  const users = new Users(folder, server.url, server.authority);
  const kubeconfig = await users.kubeconfig("interop-admin", ["system:masters"]);
  const admin = await connect(kubeconfig);
  const programs = [...server.programs];
  const stop = async (): Promise<void> => {
    admin.close();
    for (const program of programs.toReversed()) await program.stop();
  };
  try {
    await eventually("the API server is ready", async () => {
      for (const { name, ended, log } of programs)
        if (ended !== undefined)
          throw new Error(`${name} ${ended}:\n${readFileSync(log, "utf8").slice(-2000)}`);
      // Until it is ready, the server answers with the checks that fail.
      return admin.text("GET", "/readyz").catch(() => undefined);
    });
    programs.push(...(await startComponents(folder, server, users, features)));
    return { side, kubeconfig, admin, users, programs, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** kube-controller-manager and kube-scheduler, with the flags of kubeadm's manifests. */
export async function startComponents(
  folder: string,
  server: Server,
  users: Users,
  { gates = [], schedulerGates = [], unlimited = false }: Features,
): Promise<Program[]> {
  const [managerPort, schedulerPort] = await freePorts(2);
  const as = async (user: string): Promise<string[]> => {
    const kubeconfig = await users.kubeconfig(user);
    return [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      "--bind-address=127.0.0.1",
      "--leader-elect=true",
      // A component that cannot renew its lease in time ends; under load a write of etcd can take longer than
      // by default.
      "--leader-elect-lease-duration=90s",
      "--leader-elect-renew-deadline=60s",
      ...(unlimited ? ["--kube-api-qps=5000", "--kube-api-burst=5000"] : []),
    ];
  };
  const { ca, caKey, serviceAccountKey } = server.files;
  return [
    start(
      "kube-controller-manager",
      [
        peer("kube-controller-manager"),
        ...(await as("system:kube-controller-manager")),
        `--secure-port=${managerPort}`,
        "--controllers=*,bootstrapsigner,tokencleaner",
        "--use-service-account-credentials=true",
        "--service-cluster-ip-range=10.0.0.0/24",
        `--client-ca-file=${ca}`,
        `--root-ca-file=${ca}`,
        `--cluster-signing-cert-file=${ca}`,
        `--cluster-signing-key-file=${caKey}`,
        `--service-account-private-key-file=${serviceAccountKey}`,
        `--flex-volume-plugin-dir=${join(folder, "volume-plugins")}`,
        "--namespace-sync-period=5s",
        "--horizontal-pod-autoscaler-sync-period=5s",
        "--resource-quota-sync-period=10s",
        ...featureFlags(gates),
      ],
      join(folder, "kube-controller-manager.log"),
    ),
    start(
      "kube-scheduler",
      [
        peer("kube-scheduler"),
        ...(await as("system:kube-scheduler")),
        `--secure-port=${schedulerPort}`,
        ...featureFlags([...gates, ...schedulerGates]),
      ],
      join(folder, "kube-scheduler.log"),
    ),
  ];
}
