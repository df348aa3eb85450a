import { join } from "node:path";
import { readRecord, writeRecord } from "../host/records.ts";

const recordName = "node.json";

/** Data for the clean-up of a node whose agent does not come back. */
export interface OciNodeRecord {
  readonly nodeName: string;
  readonly networkDirectory: string;
  readonly imagesDirectory: string;
}

/** Keeps the record in the folder in which the node's runtime keeps the others. */
export function recordOciNode(directory: string, record: OciNodeRecord): void {
  writeRecord(join(directory, recordName), JSON.stringify(record));
}

/** Undefined if no runtime has run there. */
export function readOciNode(directory: string): OciNodeRecord | undefined {
  return readRecord<OciNodeRecord>(directory, recordName);
}
