/**
 * Node selectors (core/v1 NodeSelector), of pods, slices, devices and volumes.
 * Upstream: k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
 */
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PreferredSchedulingTerm,
} from "../generated/core/v1.ts";
import { quoted } from "../text/quoted.ts";
import {
  aggregateText,
  holds,
  type LabelRequirement,
  type Labels,
  objectOperators,
  requirementProblems,
} from "./labels.ts";

/** An invalid node selector. The message says the fault and its place. */
export class NodeSelectorError extends Error {
  override readonly name = "NodeSelectorError";
}

/** The part of a node that a selector reads. */
export type SelectableNode = Pick<Node, "metadata">;

/** Whether a node is one of those selected. */
export type NodeTest = (node: SelectableNode) => boolean;

/**
 * Reads a selector for many nodes: one of its terms must hold; a term without requirements holds for no node.
 * Throws NodeSelectorError where any term is malformed, even one that is not needed (NewNodeSelector).
 */
export function readNodeSelector(selector: NodeSelector): NodeTest {
  const terms = readTerms(selector);
  refuse(terms);
  return (node) => terms.some((term) => matches(term, node));
}

/** `readNodeSelector` for one node. */
export function matchesNodeSelector(selector: NodeSelector, node: SelectableNode): boolean {
  return readNodeSelector(selector)(node);
}

/**
 * The same of a pod's affinity: a malformed term holds for no node, and the others still count
 * (LazyErrorNodeSelector).
 */
export function readLazily(selector: NodeSelector): NodeTest {
  const terms = readTerms(selector).filter(({ problems }) => problems.length === 0);
  return (node) => terms.some((term) => matches(term, node));
}

/**
 * Reads preferences: the sum of the weights of those that a node meets. Throws NodeSelectorError where any of
 * them is malformed; those without weight are not read (PreferredSchedulingTerms).
 */
export function readNodePreferences(
  preferences: readonly PreferredSchedulingTerm[],
): (node: SelectableNode) => number {
  const terms = preferences.flatMap(({ weight, preference }, index) =>
    weight === 0 || isEmpty(preference) ? [] : [{ weight, term: readTerm(preference, `[${index}]`) }],
  );
  refuse(terms.map(({ term }) => term));
  return (node) => terms.reduce((sum, { weight, term }) => (matches(term, node) ? sum + weight : sum), 0);
}

function refuse(terms: readonly Term[]): void {
  const problems = terms.flatMap((term) => term.problems);
  if (problems.length > 0) throw new NodeSelectorError(aggregateText(problems));
}

interface Term {
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly { readonly key: string; readonly value: string; readonly equal: boolean }[];
  readonly problems: readonly string[];
}

const isEmpty = ({ matchExpressions, matchFields }: NodeSelectorTerm): boolean =>
  !matchExpressions?.length && !matchFields?.length;

function readTerms({ nodeSelectorTerms }: NodeSelector): Term[] {
  return (nodeSelectorTerms ?? []).flatMap((term, index) =>
    isEmpty(term) ? [] : [readTerm(term, `nodeSelectorTerms[${index}]`)],
  );
}

function readTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, path: string): Term {
  const labels: LabelRequirement[] = [];
  const fields: { key: string; value: string; equal: boolean }[] = [];
  const problems: string[] = [];
  for (const [index, { key, operator: name, values = [] }] of matchExpressions.entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const operator = objectOperators.get(name);
    if (operator === undefined) {
      problems.push(unsupported(at, name, ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]));
      continue;
    }
    const requirement: LabelRequirement = { key, operator, values };
    const found = requirementProblems(requirement, `${at}.`);
    for (const each of found) problems.push(each);
    if (found.length === 0) labels.push(requirement);
  }
  for (const [index, { key, operator, values = [] }] of matchFields.entries()) {
    const at = `${path}.matchFields[${index}]`;
    if (operator !== "In" && operator !== "NotIn") problems.push(unsupported(at, operator, ["In", "NotIn"]));
    else if (values.length !== 1)
      problems.push(`${at}.values: Invalid value: ${JSON.stringify(values)}: must have one element`);
    else fields.push({ key, value: values[0]!, equal: operator === "In" });
  }
  return { labels, fields, problems };
}

function unsupported(
  at: string,
  operator: NodeSelectorRequirement["operator"],
  supported: readonly string[],
): string {
  return `${at}.operator: Unsupported value: ${quoted(operator)}: supported values: ${supported.map(quoted).join(", ")}`;
}

const noLabels: Labels = {};

function matches({ labels, fields }: Term, { metadata }: SelectableNode): boolean {
  return (
    labels.every((requirement) => holds(requirement, metadata.labels ?? noLabels)) &&
    fields.every(
      ({ key, value, equal }) => ((key === "metadata.name" ? metadata.name : "") === value) === equal,
    )
  );
}
