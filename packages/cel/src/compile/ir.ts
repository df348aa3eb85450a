import type { MessageType } from "../values/message.ts";
import type { Value } from "../values/value.ts";
import type { ConstantSet } from "./constant-set.ts";
import type { Invocation } from "./invocation.ts";

/**
 * What a checked expression comes down to, with everything decided that does not depend on values. Both back ends, the
 * closures and the generated source, follow it node by node; what a node does to values stands in `runtime.ts`.
 *
 * Costs are those of cel-go's cost tracker: a chain of accesses costs one for each access made and one for itself, a
 * call what its rule says, a list 10, a map 30 and a message 40; the other nodes cost nothing themselves.
 */
export type Node =
  | Constant
  | Made
  | Variable
  | Local
  | Lazy
  | Chain
  | Presence
  | Logical
  | Conditional
  | Invoke
  | Guard
  | Fallback
  | Member
  | MakeList
  | MakeMap
  | MakeMessage
  | Append
  | Insert
  | Loop
  | Bind;

export interface Constant {
  readonly kind: "constant";
  readonly value: Value;
}

/** A call of constants that was carried out beforehand; cel-go makes it, and so counts it, each time. */
export interface Made {
  readonly kind: "made";
  /** An error where it failed. */
  readonly value: Value;
  readonly cost: number;
}

/** A variable of the environment; costs are those of the chain around it. */
export interface Variable {
  readonly kind: "variable";
  readonly name: string;
  /** Place among the values handed to an evaluation. */
  readonly index: number;
}

/** A variable of a loop. */
export interface Local {
  readonly kind: "local";
  readonly slot: number;
}

/** A variable of `cel.bind`: computed when it is first asked for. */
export interface Lazy {
  readonly kind: "lazy";
  readonly slot: number;
  readonly init: Node;
}

/** A value and the fields or indexes taken from it; once one is optional, the rest is too. */
export interface Chain {
  readonly kind: "chain";
  readonly base: Node;
  readonly qualifiers: readonly Qualifier[];
  /** 1, or 0 where cel-go watches the parts only: for `c ? a : b` and for what stands in a branch or an index. */
  readonly own: 0 | 1;
  /** Whether the base can turn out to be an optional value. */
  readonly maybeOptional: boolean;
}

/** The key is computed by a node; a constant one is checked already. */
export interface Qualifier {
  readonly key: Node;
  readonly optional: boolean;
  /** The operand is of a message type that the checker knows; never set for an optional access. */
  readonly declared?: true;
}

/** `has(chain.field)` */
export interface Presence {
  readonly kind: "presence";
  readonly chain: Chain;
  readonly field: string;
  /** cel-go takes one off where `c ? a : b` stands in `has()`. */
  readonly own: 0 | -1;
  /** The chain leads to an optional value, as its type says. */
  readonly optional: boolean;
  /** The operand is of a message type that the checker knows. */
  readonly declared?: true;
}

/** `&&` (stops at false) and `||` (stops at true). */
export interface Logical {
  readonly kind: "logical";
  readonly stop: boolean;
  readonly left: Node;
  readonly right: Node;
}

export interface Conditional {
  readonly kind: "conditional";
  readonly condition: Node;
  readonly yes: Node;
  readonly no: Node;
}

export interface Invoke {
  readonly kind: "invoke";
  readonly call: Invocation;
  readonly args: readonly Node[];
}

/** `@not_strictly_false`: an error lets a loop go on. */
export interface Guard {
  readonly kind: "guard";
  readonly operand: Node;
}

/** `or` and `orValue` of optional values. */
export interface Fallback {
  readonly kind: "fallback";
  readonly name: "or" | "orValue";
  readonly target: Node;
  readonly other: Node;
}

/** `x in [constants]` */
export interface Member {
  readonly kind: "member";
  readonly needle: Node;
  readonly set: ConstantSet;
}

export interface MakeList {
  readonly kind: "list";
  readonly elements: readonly Node[];
  readonly optional: ReadonlySet<number>;
}

export interface MakeMap {
  readonly kind: "map";
  readonly entries: readonly { readonly key: Node; readonly value: Node; readonly optional: boolean }[];
}

/** `Name{field: value}` */
export interface MakeMessage {
  readonly kind: "message";
  readonly type: MessageType;
  readonly fields: readonly { readonly name: string; readonly value: Node; readonly optional: boolean }[];
}

/** `@result + [element]` of a loop that collects: the list is this loop's own and grows in place. */
export interface Append {
  readonly kind: "append";
  readonly slot: number;
  readonly element: Node;
  /** What the one-element list costs, besides 1 for the accumulator and 1 for the sum. */
  readonly makes: 0 | 10;
}

/** `cel.@mapInsert(@result, …)` of a loop that collects. */
export interface Insert {
  readonly kind: "insert";
  readonly slot: number;
  /** A key and a value, or a map. */
  readonly args: readonly Node[];
}

export interface Loop {
  readonly kind: "loop";
  readonly range: Node;
  /** The accumulator, which starts as `init`, and the one or two variables. */
  readonly slot: number;
  readonly init: Value;
  readonly first: number;
  readonly second: number | undefined;
  readonly condition: Node;
  readonly step: Node;
  readonly result: Node;
}

/** Forgets the value of a variable of `cel.bind`, then gives the result. */
export interface Bind {
  readonly kind: "bind";
  readonly slot: number;
  readonly result: Node;
}

/** A lowered expression. */
export interface Lowered {
  readonly root: Node;
  /** Places for the variables of loops and bindings. */
  readonly slots: number;
}
