import type { Inventory } from "../inventory/inventory.ts";
import type { Rights } from "../observe/rights.ts";
import { explainClaim } from "./claim.ts";
import { explainClass } from "./class.ts";
import type { Explained, SubjectKind } from "./data.ts";
import { explainDevice } from "./device.ts";
import { explainNode } from "./node.ts";
import { explainPod } from "./pod.ts";
import type { Scene } from "./scene.ts";
import { explainSlice } from "./slice.ts";
import { findDevice, findObject } from "./subject.ts";
import { explainWorkload } from "./workload.ts";

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
