import type { Directive, Tag } from "./tag.ts";

/** Types of tokens; the two starts and the end of block collections come from indentation. */
export type TokenType =
  | "stream end"
  | "directive"
  | "document start"
  | "document end"
  | "block sequence start"
  | "block mapping start"
  | "block end"
  | "flow sequence start"
  | "flow sequence end"
  | "flow mapping start"
  | "flow mapping end"
  | "block entry"
  | "flow entry"
  | "key"
  | "value"
  | "alias"
  | "anchor"
  | "tag"
  | "scalar";

export type Token = ScalarToken | OtherToken;

interface Common {
  /** From 0 on. */
  readonly line: number;
  /** The text of a scalar, the name of an anchor or alias. */
  readonly text: string;
  /** A scalar without quotes. */
  readonly plain: boolean;
  /** State of the token as a possible key, valid while the state's `token` is the number of this token. */
  readonly key?: SimpleKey | undefined;
}

export interface ScalarToken extends Common {
  readonly type: "scalar";
}

interface OtherToken extends Common {
  readonly type: Exclude<TokenType, "scalar">;
  /** A tag as it is written. */
  readonly written?: Tag | undefined;
  readonly directive?: Directive | undefined;
}

/** A token that is the key of a map if a `:` comes in time. */
export interface SimpleKey {
  possible: boolean;
  /** True while tokens are held back until the token proves to be a key or not. */
  awaited: boolean;
  /** Only a key may occur here. */
  required: boolean;
  /** Its number among all tokens. */
  token: number;
  at: number;
  line: number;
  column: number;
}

/** Initial state of a place, without a possible key. */
export const noKey = (): SimpleKey => ({
  possible: false,
  awaited: false,
  required: false,
  token: -1,
  at: 0,
  line: 0,
  column: 0,
});
