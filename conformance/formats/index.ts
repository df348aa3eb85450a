import type { Format } from "../format.ts";
import { allocatorFormat } from "./allocator.ts";
import { apiFormat } from "./api.ts";
import { celFormat } from "./cel.ts";

/** All that can be replayed; the first one that recognises a line reads it. */
export const formats: readonly Format[] = [apiFormat, celFormat, allocatorFormat];
