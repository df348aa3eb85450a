import { Inventory } from "../inventory/inventory.ts";
import { awaitWithoutFaults } from "../manifests/faults.ts";
import type { Rights } from "../observe/rights.ts";
import { UsageError } from "../terminal/failure.ts";
import { explainClaim } from "./claim.ts";
import { explainClass } from "./class.ts";
import { type Explained, leftOutOf, type SubjectKind } from "./data.ts";
import { explainDevice } from "./device.ts";
import { explainNode } from "./node.ts";
import { explainPod } from "./pod.ts";
import type { Scene } from "./scene.ts";
import { explainSlice } from "./slice.ts";
import { findDevice, findObject, NoSuchObjectError } from "./subject.ts";
import { explainTaintRule } from "./taint-rule.ts";
import { explainWorkload } from "./workload.ts";

/** Explains an object of the scene without the objects that cannot be read, which the answer names. */
export async function explainReadable(question: Question, scene: Scene, rights: Rights): Promise<Explained> {
  const { answer, faults } = await awaitWithoutFaults(
    scene.world,
    (world) => explain(question, { ...scene, world }, new Inventory(world, scene.features), rights),
    isNoAnswer,
  );
  return faults.length === 0 ? answer : { ...answer, leftOut: leftOutOf(faults) };
}

/** Reports whether an error is about the question, not about an object that cannot be read. */
const isNoAnswer = (error: unknown): boolean =>
  error instanceof NoSuchObjectError || error instanceof UsageError;

export interface Question {
  readonly kind: SubjectKind;
  readonly name: string;
  readonly namespace: string;
  /** Source of the data, for errors. */
  readonly source: string;
}

/** Explains an object of the scene. Throws an Error with the existing names if it is missing. */
export async function explain(
  question: Question,
  scene: Scene,
  inventory: Inventory,
  rights: Rights,
): Promise<Explained> {
  const { world } = scene;
  const { kind, name, source } = question;
  const report = async (): Promise<Omit<Explained, "version" | "rights">> => {
    switch (kind) {
      case "Pod":
        return explainPod(findObject(world, kind, question), scene, inventory);
      case "ResourceClaim":
        return explainClaim(findObject(world, kind, question), scene, inventory);
      case "Node":
        return explainNode(findObject(world, kind, question), scene, inventory);
      case "DeviceClass":
        return explainClass(findObject(world, kind, question), inventory);
      case "ResourceSlice":
        return explainSlice(findObject(world, kind, question), inventory);
      case "DeviceTaintRule":
        return explainTaintRule(findObject(world, kind, question), scene);
      case "DaemonSet":
      case "Deployment":
      case "Job":
      case "PodGroup":
      case "ReplicaSet":
      case "StatefulSet":
        return explainWorkload(findObject(world, kind, question), scene, inventory);
      default:
        return explainDevice(findDevice(inventory, name, source), inventory);
    }
  };
  return { version: 1, ...(await report()), rights };
}
