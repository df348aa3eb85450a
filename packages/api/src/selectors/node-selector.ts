import type { Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from "../generated/core/v1.ts";

/** A node selector that cannot be read; the message names what is wrong. */
export class NodeSelectorError extends Error {
  override readonly name = "NodeSelectorError";
}

/** What a node selector looks at. */
export type SelectableNode = Pick<Node, "metadata">;

/**
 * Whether a node fits a selector (core/v1 NodeSelector): one of its terms must hold; a term without requirements holds
 * for no node. Throws NodeSelectorError where any term is malformed, even one that is not needed.
 */
export function matchesNodeSelector(selector: NodeSelector, node: SelectableNode): boolean {
  const terms = selector.nodeSelectorTerms.map(readTerm);
  return terms.some((term) => term(node));
}

/** One term alone; see `matchesNodeSelector`. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, node: SelectableNode): boolean {
  return readTerm(term)(node);
}

type Test = (node: SelectableNode) => boolean;

function readTerm(term: NodeSelectorTerm): Test {
  const labels = (term.matchExpressions ?? []).map(readExpression);
  const fields = (term.matchFields ?? []).map(readField);
  const tests = [...labels, ...fields];
  return (node) => tests.length > 0 && tests.every((test) => test(node));
}

function readExpression(requirement: NodeSelectorRequirement): Test {
  const { key, operator } = requirement;
  const values = requirement.values ?? [];
  // A key may be the name of something that every object inherits: `constructor`.
  const label = ({ metadata: { labels } }: SelectableNode): string | undefined =>
    labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0)
        throw new NodeSelectorError(`${key}: values: for ${operator} there must be at least one`);
      return operator === "In"
        ? (node) => values.includes(label(node) ?? "") && label(node) !== undefined
        : (node) => label(node) === undefined || !values.includes(label(node)!);
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0)
        throw new NodeSelectorError(`${key}: values: for ${operator} there must be none`);
      return (node) => (label(node) !== undefined) === (operator === "Exists");
    case "Gt":
    case "Lt": {
      const bound = values.length === 1 ? wholeNumber(values[0]!) : undefined;
      if (bound === undefined) {
        throw new NodeSelectorError(`${key}: values: for ${operator} there must be exactly one whole number`);
      }
      return (node) => {
        const value = wholeNumber(label(node) ?? "");
        return value !== undefined && (operator === "Gt" ? value > bound : value < bound);
      };
    }
    default:
      throw new NodeSelectorError(`"${operator}" is not a valid label selector operator`);
  }
}

function readField(requirement: NodeSelectorRequirement): Test {
  const { key, operator } = requirement;
  const values = requirement.values ?? [];
  if (operator !== "In" && operator !== "NotIn") {
    throw new NodeSelectorError(`"${operator}" is not a valid field selector operator`);
  }
  if (values.length !== 1) throw new NodeSelectorError(`${key}: values: there must be exactly one`);
  return (node) => {
    const value = key === "metadata.name" ? node.metadata.name : "";
    return (value === values[0]) === (operator === "In");
  };
}

function wholeNumber(text: string): bigint | undefined {
  return /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}
