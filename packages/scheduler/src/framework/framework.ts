import type { KubeObject } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { GroupNode } from "./group-tree.ts";
import type { NodeInfo } from "./node-info.ts";

/** Why a plugin turns a pod or a node down; a refusal is data, rendered at the edge. */
export interface Rejection {
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** False: removing other pods from the node would not help (UnschedulableAndUnresolvable). */
  readonly resolvable: boolean;
  /** The next attempt may get further, though nothing has changed. */
  readonly transient?: true;
}

/**
 * Result of PreFilter: nothing to do for this pod, a rejection of every node, or the only nodes that may be
 * feasible. `first`: Filter rejects all other nodes, which are asked for their reasons if none of these takes
 * the pod.
 */
export type PreFilterResult =
  | { readonly type: "continue"; readonly nodes?: ReadonlySet<string>; readonly first?: ReadonlySet<string> }
  | { readonly type: "skip" }
  | { readonly type: "reject"; readonly rejection: Rejection };

/**
 * Parts of a node by which plugins decide. Upstream: kube-scheduler/framework/types.go, ActionType, from
 * UpdateNodeAllocatable on.
 */
export type NodePart =
  | "allocatable"
  | "annotations"
  | "conditions"
  | "declaredFeatures"
  | "labels"
  | "taints"
  | "unschedulable";

/**
 * Something happened in the cluster that may let a waiting pod be scheduled. `old` is the object before an
 * update.
 * Upstream: kube-scheduler/framework/types.go, EventResource and ActionType.
 */
export type ClusterEvent =
  | {
      readonly kind: "node";
      readonly change: Change;
      readonly name: string;
      readonly node: Node;
      readonly old?: Node;
      /** Parts that differ from `old`; all without it. */
      readonly changed: ReadonlySet<NodePart>;
    }
  /** A pod on a node. One that has ended counts as deleted. */
  | { readonly kind: "assigned-pod"; readonly change: Change; readonly pod: Pod; readonly old?: Pod }
  /** The waiting pod itself changed. */
  | { readonly kind: "own-pod"; readonly uid: string; readonly pod: Pod; readonly old?: Pod }
  | {
      readonly kind: "claim";
      readonly namespace: string;
      readonly name: string;
      readonly freed: boolean;
      readonly claim: ResourceClaim;
      /** Uids of the only pods that it may help; any if absent. */
      readonly users?: readonly string[];
      readonly old?: ResourceClaim;
    }
  | { readonly kind: "class"; readonly deviceClass: DeviceClass }
  | { readonly kind: "slice" }
  /** A PersistentVolume, a claim to one, a StorageClass, or another storage object that plugins read. */
  | {
      readonly kind: "volume";
      readonly change: Change;
      readonly object: KubeObject;
      readonly old?: KubeObject;
    }
  /** A group of pods came or changed; without the group, a pod came that belongs to it. */
  | {
      readonly kind: "pod-group";
      readonly namespace: string;
      readonly name: string;
      readonly group?: PodGroup;
      readonly old?: PodGroup;
      /** A group of groups, and not one of pods, came. */
      readonly composite?: CompositePodGroup;
    }
  /** The scheduler has released what it held for a pod; without a pod, the scheduler has just started. */
  | { readonly kind: "released"; readonly pod?: Pod };

export type Change = "add" | "update" | "delete";

/** Values that plugins keep between the extension points of one attempt, by plugin name. */
export type CycleState = Map<string, unknown>;

const groupKey = "pod group";

/**
 * A state for one pod of a group; `group` holds what plugins share between the pods while they are scheduled
 * together.
 */
export function stateInGroup(group: CycleState): CycleState {
  return new Map<string, unknown>([[groupKey, group]]);
}

/** State that plugins share between the pods of one group; undefined: the pod is scheduled on its own. */
export function groupStateOf(state: CycleState): CycleState | undefined {
  return state.get(groupKey) as CycleState | undefined;
}

/** A value in the state that `addPod` and `removePod` change: each trial has its own copy. */
export interface Cloneable {
  clone(): unknown;
}

/** A copy for a trial with other pods on a node; values without `clone` are shared. */
export function cloneState(state: CycleState): CycleState {
  const copy: CycleState = new Map();
  for (const [name, value] of state) {
    const { clone } = (value ?? {}) as Partial<Cloneable>;
    copy.set(name, typeof clone === "function" ? clone.call(value) : value);
  }
  return copy;
}

/** A waiting pod as QueueSort compares it. */
export interface WaitingPodInfo {
  readonly pod: Pod;
  /** When it came or was tried last, in milliseconds. */
  readonly since: number;
}

export interface PostFilterResult {
  /** For the message of the pod's condition. */
  readonly message?: string;
  /** Explains what the nodes lack, for the event alone. Called at most once, and not always. */
  readonly cause?: () => string | undefined;
  /** The pod will fit: messages of other plugins are dropped. */
  readonly done?: boolean;
  /** The pod will run on this node once others have left; "" clears an earlier nomination. */
  readonly nominatedNode?: string;
}

/** Nodes that may take a whole group. */
export interface GroupPlacement {
  readonly name: string;
  readonly nodes: readonly NodeInfo[];
}

/** A group of which too few pods can be placed. */
export interface RefusedGroup {
  readonly group: GroupNode;
  /** Its pods that wait. */
  readonly pods: readonly Pod[];
  /** State that plugins share between the pods. */
  readonly state: CycleState;
  /** Tries the whole group again, against the nodes as they are now. Nothing is reserved afterwards. */
  readonly tryAgain: () => GroupTrial;
}

/** Result of a trial of a group. */
export type GroupTrial =
  | { readonly type: "placed"; readonly assignments: readonly Assignment[] }
  | { readonly type: "refused"; readonly message: string }
  /** The attempt failed, whatever the nodes have. */
  | { readonly type: "failed"; readonly message: string };

/** The node that a trial has found for a pod of a group. */
export interface Assignment {
  readonly pod: Pod;
  readonly node: NodeInfo;
  readonly state: CycleState;
  /** Counts the pod on the node, with what plugins reserve for it. */
  take(): void;
  undo(): void;
}

export interface GroupPostFilterResult {
  /** For the message of the group's condition. */
  readonly message?: string;
  /** `done`: the group will fit; `hopeless`: nothing helps. Messages of other plugins are dropped then. */
  readonly verdict?: "done" | "hopeless";
  /** By the uid of a pod, the node on which it will run once others have left. */
  readonly nominatedNodes?: ReadonlyMap<string, string>;
}

export type PermitResult =
  | { readonly type: "allow" }
  /** The binding waits until each plugin that asked for it allows it, or one rejects it; milliseconds. */
  | { readonly type: "wait"; readonly timeout: number }
  | { readonly type: "reject"; readonly rejection: Rejection };

/**
 * A plugin of the scheduling framework (KEP-624): each method is one extension point. Methods up to `permit`
 * are synchronous, so that nothing can change between them; what they throw fails the whole attempt.
 */
export interface Plugin {
  readonly name: string;
  /** Whether its results for a node depend on pods of other nodes, too. */
  readonly dependsOnOtherNodes?: true;
  /** Weight of its score where the configuration gives none. */
  readonly weight?: number;
  /**
   * A message: the pod is not worth trying yet. Asked again when an event of the pod or of the plugin may
   * change that.
   */
  preEnqueue?(pod: Pod): string | undefined;
  /** QueueSort: whether `a` is tried before `b`. One plugin of a profile has it. */
  less?(a: WaitingPodInfo, b: WaitingPodInfo): boolean;
  preFilter?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): PreFilterResult;
  /**
   * Counts another pod that a trial puts on the node, in what `preFilter` has kept in `state`. The node has
   * it already.
   */
  addPod?(state: CycleState, pod: Pod, added: Pod, node: NodeInfo): void;
  /** Discounts a pod that a trial takes from the node. The node is without it already. */
  removePod?(state: CycleState, pod: Pod, removed: Pod, node: NodeInfo): void;
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Rejection | undefined;
  /**
   * After all nodes were rejected: may change something so that a later attempt succeeds. `rejections` has
   * every node. Code before the first `await` sees the nodes as the filters saw them.
   */
  postFilter?(
    state: CycleState,
    pod: Pod,
    rejections: ReadonlyMap<string, Rejection>,
  ): PostFilterResult | Promise<PostFilterResult>;
  /**
   * In the place of `postFilter` for pods that were scheduled as a group, of which too few can be placed.
   * Nothing of what was reserved for them is held any more. Code before the first `await` sees the nodes as
   * the filters saw them.
   */
  postFilterGroup?(refused: RefusedGroup): GroupPostFilterResult | Promise<GroupPostFilterResult>;
  /**
   * PlacementGenerate: the placements among which one is chosen for the group, within that of the group
   * around it. One plugin of a profile has it. An exception fails the attempt of the group.
   */
  placements?(group: GroupNode, parent: GroupPlacement): readonly GroupPlacement[];
  /**
   * PlacementScore: higher is better; from 0 to 100 unless `normalizePlacements` makes it so. `pods` would
   * run there.
   */
  scorePlacement?(group: GroupNode, placement: GroupPlacement, pods: readonly Pod[]): number;
  normalizePlacements?(scores: Map<GroupPlacement, number>): void;
  /** Before the nodes that passed the filters are scored. "skip": all of them are the same to the plugin. */
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): "skip" | undefined;
  /** Higher is better; made comparable by `normalize`, else from 0 to 100. */
  score?(state: CycleState, pod: Pod, node: NodeInfo): number;
  normalize?(scores: Map<string, number>, state: CycleState, pod: Pod): void;
  /** The pod as it counts on the node from now on, where its status does not say yet what it takes there. */
  assume?(state: CycleState, pod: Pod, node: NodeInfo): Pod;
  /** Takes in memory what the pod needs on the node. */
  reserve?(state: CycleState, pod: Pod, node: NodeInfo): Rejection | undefined;
  /**
   * Releases in memory what `reserve` took, so that the same can be reserved again. Called for every
   * plugin, in reverse order, also when `reserve` was not reached or has thrown. A plugin without it does so
   * in `unreserve`.
   */
  undo?(state: CycleState, pod: Pod, node: NodeInfo): void;
  /**
   * After `undo`: reverts what `preBind` wrote. Called for every plugin, in reverse order, also when
   * `preBind` was not reached or has thrown. The pod has a node if another scheduler has bound it.
   */
  unreserve?(state: CycleState, pod: Pod, node: NodeInfo): Promise<void>;
  /** Lets the pod go to its node, holds it back or rejects it. */
  permit?(state: CycleState, pod: Pod, node: NodeInfo): PermitResult;
  /** Writes what has to be there before the pod is bound. */
  preBind?(state: CycleState, pod: Pod, node: NodeInfo): Promise<void>;
  /** Binds the pod; false leaves it to the next plugin. */
  bind?(state: CycleState, pod: Pod, node: NodeInfo): Promise<boolean>;
  postBind?(state: CycleState, pod: Pod, node: NodeInfo): void;
  /**
   * Reports whether the event may let a pod through that this plugin has rejected or gated (KEP-4247,
   * queueing hints).
   */
  mayHelp(pod: Pod, event: ClusterEvent): boolean;
}

/** The highest score after normalisation. */
export const maxScore = 100;

/** Scales scores to 0..100 by the highest; `reverse`: the lowest becomes best. */
export function normalizeByHighest(scores: Map<string, number>, reverse = false): void {
  let highest = 0;
  for (const score of scores.values()) highest = Math.max(highest, score);
  for (const [node, score] of scores) {
    const scaled = highest === 0 ? 0 : Math.floor((score * maxScore) / highest);
    scores.set(node, reverse ? maxScore - scaled : scaled);
  }
}
