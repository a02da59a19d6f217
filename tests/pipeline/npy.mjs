// NumPy .npy files for the tests: reads float32 (little-endian, C order), writes float32 version 1.0.
import { readFileSync, writeFileSync } from 'node:fs';

export function readNpy(path) {
  const bytes = readFileSync(path);
  if (bytes.subarray(0, 6).toString('latin1') !== '\x93NUMPY') throw new Error(`${path}: not a .npy file`);
  const long = bytes[6] > 1;
  const start = long ? 12 : 10;
  const end = start + (long ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.subarray(start, end).toString('latin1');
  if (!header.includes("'descr': '<f4'") || header.includes("'fortran_order': True")) {
    throw new Error(`${path}: only float32 in C order is read here`);
  }
  const dims = header.match(/'shape': \(([^)]*)\)/)[1].split(',').map((text) => text.trim()).filter(Boolean).map(Number);
  // A copy, because a Float32Array must start at a multiple of four bytes.
  const data = new Float32Array(new Uint8Array(bytes.subarray(end)).buffer);
  return { dims, data };
}

export function writeNpy(path, dims, values) {
  const shape = dims.length === 1 ? `${dims[0]},` : dims.join(', ');
  let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`;
  header = header.padEnd(Math.ceil((10 + header.length + 1) / 64) * 64 - 11) + '\n';
  const prefix = Buffer.alloc(10);
  prefix.write('\x93NUMPY\x01\x00', 'latin1');
  prefix.writeUInt16LE(header.length, 8);
  const data = Float32Array.from(values);
  writeFileSync(path, Buffer.concat([prefix, Buffer.from(header, 'latin1'), Buffer.from(data.buffer)]));
}
