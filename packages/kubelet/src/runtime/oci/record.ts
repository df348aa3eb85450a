import { join } from "node:path";
import { readRecord, writeRecord } from "../host/records.ts";

const recordName = "node.json";

/** Data for the clean-up of a node whose agent does not return. */
export interface OciNodeRecord {
  readonly nodeName: string;
  readonly networkDirectory: string;
  readonly imagesDirectory: string;
  /** These are absent in records of earlier versions. */
  readonly hostNetwork?: "node" | "machine";
  readonly networkNamespaces?: string;
}

/** Writes the record to the folder of the node's runtime. */
export function recordOciNode(directory: string, record: OciNodeRecord): void {
  writeRecord(join(directory, recordName), JSON.stringify(record));
}

/** Returns undefined if no runtime has run there. */
export function readOciNode(directory: string): OciNodeRecord | undefined {
  return readRecord<OciNodeRecord>(directory, recordName);
}
