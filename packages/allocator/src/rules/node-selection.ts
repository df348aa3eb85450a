import { NodeSelectorError, type NodeTest, readNodeSelector } from "@dray/api";
import type { Node, NodeSelector } from "@dray/api/core/v1";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import { AllocationError } from "./allocation-error.ts";

/** Whether a slice has devices for a node, as far as it says so. Throws AllocationError. */
export function reachesSlice(slice: ResourceSlice, node: Node): boolean {
  const { nodeName, allNodes, nodeSelector, perDeviceNodeSelection, devices } = slice.spec;
  if (nodeName) return nodeName === node.metadata.name;
  if (allNodes === true) return true;
  const gathering = "gather pool information: failed to perform node selection for";
  if (nodeSelector !== undefined) {
    return fits(nodeSelector, node, `${gathering} slice ${slice.metadata.name}: `);
  }
  if (perDeviceNodeSelection !== true) return false;
  return (devices ?? []).some((device) => {
    const where = `${gathering} device ${device.name} in slice ${slice.metadata.name}: `;
    return reachesDevice(slice, device, node, where);
  });
}

/** Whether a slice's device is for a node, where every device says so for itself. Throws AllocationError. */
export function reachesDevice(slice: ResourceSlice, device: Device, node: Node, where = ""): boolean {
  if (slice.spec.perDeviceNodeSelection !== true) return true;
  if (device.nodeName) return device.nodeName === node.metadata.name;
  if (device.allNodes === true) return true;
  return device.nodeSelector !== undefined && fits(device.nodeSelector, node, where);
}

/** Selectors of slices, which are not changed in place: each is read once for all nodes. */
const readSelectors = new WeakMap<NodeSelector, NodeTest>();

/** Whether a node is one of those selected. `where` begins the text of an error. Throws AllocationError. */
function fits(selector: NodeSelector, node: Node, where: string): boolean {
  try {
    let test = readSelectors.get(selector);
    if (test === undefined) {
      test = readNodeSelector(selector);
      readSelectors.set(selector, test);
    }
    return test(node);
  } catch (error) {
    if (!(error instanceof NodeSelectorError)) throw error;
    throw new AllocationError(`${where}failed to parse node selector: ${error.message}`, { cause: error });
  }
}
