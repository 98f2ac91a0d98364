// read_by_zarrita.mjs ZARRITA ARRAY...: read each array by zarrita.js, and write its elements, in C order, to ARRAY.raw.
// Prints a list: null for an array that was read, else the error.
import { readFile, writeFile } from "node:fs/promises";

const [zarrita, ...arrays] = process.argv.slice(2);
const zarr = await import(zarrita);

// A store that is a folder. What is not there is undefined. Of shards, ranges are read.
const folder = (path) => {
    const get = (key) => readFile(path + key).then((bytes) => new Uint8Array(bytes), () => undefined);
    const cut = (bytes, { suffixLength, offset, length }) =>
        suffixLength === undefined ? bytes?.subarray(offset, offset + length) : bytes?.subarray(-suffixLength);
    return { get, getRange: async (key, range) => cut(await get(key), range) };
};

// The elements in C order: a result may have any strides.
function inOrder({ data, shape, stride }) {
    const elements = new data.constructor(data.length);
    const position = shape.map(() => 0);
    for (let at = 0; at < elements.length; at++) {
        elements[at] = data[position.reduce((offset, index, axis) => offset + index * stride[axis], 0)];
        for (let axis = shape.length - 1; axis >= 0 && ++position[axis] === shape[axis]; axis--) position[axis] = 0;
    }
    return elements;
}

async function read(path) {
    const array = await zarr.open(folder(path), { kind: "array" });
    await writeFile(`${path}.raw`, inOrder(await zarr.get(array)));
    return null;
}

const errors = [];
for (const path of arrays) errors.push(await read(path).catch((error) => `${error.name}: ${error.message}`));
console.log(JSON.stringify(errors));
