import { NodeSelectorError, type NodeTest, readNodeSelector } from "@dray/api";
import type { Node, NodeSelector } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import { AllocationError } from "./allocation-error.ts";

/** The fields that name nodes: those of a slice, or of a device in a slice with `perDeviceNodeSelection`. */
interface NodeSelectionFields {
  readonly nodeName?: string;
  readonly allNodes?: boolean;
  readonly nodeSelector?: NodeSelector;
}

/**
 * The nodes that a slice or a device is for. The node selector is parsed once, when a node is first compared.
 */
export class NodeSelection {
  readonly #fields: NodeSelectionFields;
  #test: NodeTest | undefined;

  constructor(fields: NodeSelectionFields) {
    this.#fields = fields;
  }

  /** Throws AllocationError if the node selector is invalid; its message begins with `where`. */
  includes(node: Node, where = ""): boolean {
    const { nodeName, allNodes, nodeSelector } = this.#fields;
    if (nodeName) return nodeName === node.metadata.name;
    if (allNodes === true) return true;
    return nodeSelector !== undefined && this.#matches(nodeSelector, node, where);
  }

  #matches(selector: NodeSelector, node: Node, where: string): boolean {
    try {
      this.#test ??= readNodeSelector(selector);
      return this.#test(node);
    } catch (error) {
      if (!(error instanceof NodeSelectorError)) throw error;
      throw new AllocationError(`${where}failed to parse node selector: ${error.message}`, { cause: error });
    }
  }
}

/** Fields of a slice and its devices that select nodes. */
export interface SelectingSlice {
  readonly slice: ResourceSlice;
  /** Undefined if the slice itself names no nodes. */
  readonly nodes: NodeSelection | undefined;
  readonly records: readonly SelectingDevice[];
}

export interface SelectingDevice {
  readonly device: { readonly name: string };
  /** Undefined if the nodes of the slice are those of the device. */
  readonly nodes: NodeSelection | undefined;
}

/** The nodes that a slice names as a whole; undefined if it names none. */
export function nodesOfSlice({ spec }: ResourceSlice): NodeSelection | undefined {
  const isNamed = Boolean(spec.nodeName) || spec.allNodes === true || spec.nodeSelector !== undefined;
  return isNamed ? new NodeSelection(spec) : undefined;
}

/** Reports whether a slice offers devices to a node. Throws AllocationError. */
export function isSliceForNode({ slice, nodes, records }: SelectingSlice, node: Node): boolean {
  const gathering = "gather pool information: failed to perform node selection for";
  if (nodes !== undefined) return nodes.includes(node, `${gathering} slice ${slice.metadata.name}: `);
  return records.some(
    ({ device, nodes }) =>
      nodes?.includes(node, `${gathering} device ${device.name} in slice ${slice.metadata.name}: `) === true,
  );
}

/** Reports whether a device of a slice that is for the node is for the node, too. Throws AllocationError. */
export function isDeviceForNode({ nodes }: SelectingDevice, node: Node): boolean {
  return nodes === undefined || nodes.includes(node);
}
