// The numeric reference: runs a model by ONNX Runtime, one inference after the other in one process.
//
//   node onnxruntime.mjs MODEL.onnx IN.npy... --out DIR
//
// With n inputs in the model, files 0 to n-1 are the first inference's inputs in the model's order, and so on. Output j of
// inference k becomes DIR/inference_k/output_j.npy. Files are float32; values are converted to and from the model's own types. Graph
// optimisations are off, so that every operator computes what ONNX says.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import ort from 'onnxruntime-node';
import { readNpy, writeNpy } from './npy.mjs';

const half = {
  toFloat(bits) {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const magnitude = exponent === 0 ? fraction * 2 ** -24
      : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
    return bits & 0x8000 ? -magnitude : magnitude;
  },
  // To nearest even, by rounding to the half's step at the value's exponent.
  fromFloat(value) {
    const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
    const magnitude = Math.abs(value);
    if (Number.isNaN(value)) return 0x7e00;
    if (magnitude === Infinity) return sign | 0x7c00;
    const exponent = Math.max(magnitude === 0 ? -14 : Math.floor(Math.log2(magnitude)), -14);
    const steps = magnitude / 2 ** (exponent - 10);
    const down = Math.floor(steps);
    const rounded = steps - down > 0.5 || (steps - down === 0.5 && down % 2 === 1) ? down + 1 : down;
    // A carry out of the fraction moves into the exponent by itself.
    return sign | Math.min(((exponent + 14) << 10) + rounded, 0x7c00);
  },
};

const converters = {
  float32: (values) => values,
  float64: (values) => Float64Array.from(values),
  float16: (values) => Uint16Array.from(values, half.fromFloat),
  int8: (values) => Int8Array.from(values),
  uint8: (values) => Uint8Array.from(values),
  int32: (values) => Int32Array.from(values),
  int64: (values) => BigInt64Array.from(values, (value) => BigInt(Math.trunc(value))),
  bool: (values) => Uint8Array.from(values, (value) => (value ? 1 : 0)),
};

function inputTensor(path, type) {
  const { dims, data } = readNpy(path);
  const convert = converters[type];
  if (!convert) throw new Error(`${path}: the model wants ${type}, which is not supported here`);
  return new ort.Tensor(type, convert(data), dims);
}

function outputValues(tensor) {
  if (tensor.type === 'float16') {
    const { data } = tensor;
    // Newer versions of Node have a Float16Array, which already holds numbers.
    return data instanceof Uint16Array ? Array.from(data, half.toFloat) : Array.from(data);
  }
  return Array.from(tensor.data, Number);
}

const { values: options, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
const [model, ...files] = positionals;
if (!model || !options.out) {
  console.error('usage: node onnxruntime.mjs MODEL.onnx IN.npy... --out DIR');
  process.exit(2);
}
const session = await ort.InferenceSession.create(model, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 2, logSeverityLevel: 3 });
const inputs = session.inputMetadata;
if (inputs.length === 0 || files.length % inputs.length !== 0) {
  console.error(`${model} has ${inputs.length} inputs; ${files.length} files were given`);
  process.exit(2);
}
for (let inference = 0; inference * inputs.length < files.length; ++inference) {
  const feeds = {};
  inputs.forEach((input, index) => {
    feeds[input.name] = inputTensor(files[inference * inputs.length + index], input.type);
  });
  const results = await session.run(feeds);
  const folder = join(options.out, `inference_${inference}`);
  mkdirSync(folder, { recursive: true });
  session.outputNames.forEach((name, index) => {
    writeNpy(join(folder, `output_${index}.npy`), results[name].dims, outputValues(results[name]));
  });
}
