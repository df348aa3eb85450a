export { type FieldRequirement, type FieldSelection, parseFieldSelector } from "./fields.ts";
export {
  type LabelOperator,
  type LabelRequirement,
  type LabelSelection,
  type Labels,
  labelSelectorOf,
  matchesIfValid,
  matchLabels,
  parseLabelSelector,
  requirementOf,
  SelectorError,
  selectionOf,
} from "./labels.ts";
export {
  matchesNodeSelector,
  NodeSelectorError,
  type NodeTest,
  readNodePreferences,
  readNodeSelector,
  type SelectableNode,
} from "./node-selector.ts";
