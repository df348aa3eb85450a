import type { PluginArgs } from "../plugins/args.ts";

export const apiVersion = "kubescheduler.config.k8s.io/v1";
export const kind = "KubeSchedulerConfiguration";

/** A KubeSchedulerConfiguration with defaults filled in; times in milliseconds. */
export interface SchedulerConfiguration {
  readonly profiles: readonly ProfileConfiguration[];
  /** 0: a share that shrinks with the number of nodes. */
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoff: number;
  readonly podMaxBackoff: number;
  readonly extenders: readonly ExtenderConfiguration[];
  readonly leaderElection: LeaderElectionConfiguration;
  /** File of the connection, if it is given. */
  readonly kubeconfig?: string;
}

export interface LeaderElectionConfiguration {
  readonly leaderElect: boolean;
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  readonly resourceName: string;
  readonly resourceNamespace: string;
}

/** How pods of one `spec.schedulerName` are scheduled. */
export interface ProfileConfiguration {
  readonly schedulerName: string;
  readonly percentageOfNodesToScore?: number;
  readonly args: PluginArgs;
  readonly plugins: ProfilePlugins;
}

export const extensionPointNames = [
  "preEnqueue",
  "queueSort",
  "preFilter",
  "filter",
  "postFilter",
  "podGroupPostFilter",
  "placementGenerate",
  "placementScore",
  "preScore",
  "score",
  "reserve",
  "permit",
  "preBind",
  "bind",
  "postBind",
] as const;
export type ExtensionPointName = (typeof extensionPointNames)[number];

export interface EnabledPlugin {
  readonly name: string;
  readonly weight?: number;
}

export interface PluginSet {
  readonly enabled: readonly EnabledPlugin[];
  /** Names; `*` stands for all that would be enabled otherwise. */
  readonly disabled: readonly string[];
}

/** The plugins of a profile: by extension point, and for all points that a plugin implements. */
export type ProfilePlugins = Readonly<Record<ExtensionPointName | "multiPoint", PluginSet>>;

/** An HTTP service that filters and scores nodes, too. */
export interface ExtenderConfiguration {
  readonly urlPrefix: string;
  readonly filterVerb?: string;
  readonly preemptVerb?: string;
  readonly prioritizeVerb?: string;
  readonly weight: number;
  readonly bindVerb?: string;
  readonly enableHTTPS: boolean;
  readonly tls?: ExtenderTLS;
  readonly httpTimeout: number;
  /** The extender caches nodes: only their names are sent (`nodeCacheCapable`). */
  readonly nodeCacheCapable: boolean;
  /** The extender is called only for pods that request one of these; for all pods if the list is empty. */
  readonly managedResources: readonly { readonly name: string; readonly ignoredByScheduler: boolean }[];
  /** Pods are scheduled without it while it fails. */
  readonly ignorable: boolean;
}

export interface ExtenderTLS {
  readonly insecure: boolean;
  readonly serverName?: string;
  /** Files, or PEM where the configuration has it as data. */
  readonly cert?: TLSPart;
  readonly key?: TLSPart;
  readonly ca?: TLSPart;
}

export type TLSPart = { readonly file: string } | { readonly pem: string };
