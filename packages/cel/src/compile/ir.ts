import type { MessageType } from "../values/message.ts";
import type { Value } from "../values/value.ts";
import type { ConstantSet } from "./constant-set.ts";
import type { Invocation } from "./invocation.ts";

/**
 * The intermediate representation of a checked expression: everything that does not depend on values is
 * resolved. Both back ends, closures and generated code, are made of it. The operations of nodes on values
 * are in `runtime.ts`.
 *
 * Costs are those of cel-go's cost tracker: a chain costs 1 for itself and 1 for each qualifier that it
 * follows, a call what its rule says, a list 10, a map 30 and a message 40. The other nodes cost nothing.
 */
export type Node =
  | Constant
  | FoldedCall
  | Variable
  | Local
  | Lazy
  | Chain
  | Presence
  | Logical
  | Conditional
  | Invoke
  | NotStrictlyFalse
  | Fallback
  | InSet
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

/** A call with constant arguments, evaluated at compile time. cel-go evaluates and charges it each time. */
export interface FoldedCall {
  readonly kind: "folded";
  /** A CelError if the call failed. */
  readonly value: Value;
  readonly cost: number;
}

/** A variable of the environment. The chain around it is charged. */
export interface Variable {
  readonly kind: "variable";
  readonly name: string;
  /** Among the variables of an evaluation. */
  readonly index: number;
}

/** The accumulator or a variable of a loop. */
export interface Local {
  readonly kind: "local";
  readonly slot: number;
}

/** A variable of `cel.bind`: evaluated at its first use. */
export interface Lazy {
  readonly kind: "lazy";
  readonly slot: number;
  readonly init: Node;
}

/**
 * A value and the fields or indexes that select a part of it. After an optional qualifier all are optional.
 */
export interface Chain {
  readonly kind: "chain";
  readonly base: Node;
  readonly qualifiers: readonly Qualifier[];
  /**
   * The cost of the chain itself: 0 where cel-go charges only its parts: for `c ? a : b`, a branch and an
   * index.
   */
  readonly own: 0 | 1;
  /** The base can be an optional value. */
  readonly maybeOptional: boolean;
}

export interface Qualifier {
  /** A constant key is valid. */
  readonly key: Node;
  readonly optional: boolean;
  /** The operand has a message type that the checker knows. Never set for an optional qualifier. */
  readonly declared?: true;
}

/** `has(chain.field)` */
export interface Presence {
  readonly kind: "presence";
  readonly chain: Chain;
  readonly field: string;
  /** -1 for `c ? a : b` in `has()`: there cel-go subtracts 1. */
  readonly own: 0 | -1;
  /** The type of the chain is an optional type. */
  readonly optional: boolean;
  /** The operand has a message type that the checker knows. */
  readonly declared?: true;
}

/** `&&` with `stop` false, or `||` with `stop` true. */
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

/** `@not_strictly_false`: after an error a loop continues. */
export interface NotStrictlyFalse {
  readonly kind: "notStrictlyFalse";
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
export interface InSet {
  readonly kind: "inSet";
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

/** `@result + [element]` in a loop that makes a list: it grows in place. */
export interface Append {
  readonly kind: "append";
  readonly slot: number;
  readonly element: Node;
  /** The cost of the list with one element, besides 1 for the accumulator and 1 for the sum. */
  readonly makes: 0 | 10;
}

/** `cel.@mapInsert(@result, …)` in a loop that makes a map: it grows in place. */
export interface Insert {
  readonly kind: "insert";
  readonly slot: number;
  /** A key and a value, or a map. */
  readonly args: readonly Node[];
}

export interface Loop {
  readonly kind: "loop";
  readonly range: Node;
  /** Slot of the accumulator. */
  readonly slot: number;
  readonly init: Value;
  /** Slots of the one or two variables. */
  readonly first: number;
  readonly second: number | undefined;
  readonly condition: Node;
  readonly step: Node;
  readonly result: Node;
}

/** Clears a variable of `cel.bind`, then evaluates the result. */
export interface Bind {
  readonly kind: "bind";
  readonly slot: number;
  readonly result: Node;
}

/** A lowered expression. */
export interface Lowered {
  readonly root: Node;
  /** Number of variables of loops and bindings. */
  readonly slots: number;
}
