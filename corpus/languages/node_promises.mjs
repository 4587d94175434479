import { open, rename, writeFile, appendFile } from 'node:fs/promises';

const FIXED = process.argv[2] === 'fixed';

async function sync(path) {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}

async function config() {
  await writeFile('config.new', 'theme = dark\n'); // LOST config
  if (FIXED) await sync('config.new');
  await rename('config.new', 'config'); // SURVIVED config
}

async function entry() {
  const handle = await open('entry.new', 'w');
  await handle.writeFile('entry 1\n');
  await handle.sync();
  await handle.close();
  await rename('entry.new', 'entry'); // LOST entry
  if (FIXED) await sync('.');
  process.stdout.write('entry\n'); // ACKED entry
}

function table() {
  const name = FIXED ? 'table.new' : 'table';
  return writeFile(name, 'new new new\n') // SURVIVED table LOST table
    .then(() => sync(name))
    .then(() => FIXED && rename(name, 'table'));
}

async function journal() {
  await appendFile('journal', 'paid 10\n'); // LOST journal
  if (FIXED) await sync('journal');
  console.log('paid'); // ACKED journal
  await sync('journal');
}

async function order() {
  const [blob, index] = await Promise.all([open('blob', 'r+'), open('index', 'r+')]);
  await blob.write('blob blob\n'); // LOST order
  if (FIXED) await blob.sync();
  await index.write('blob at 0\n'); // SURVIVED order
  await index.sync();
  await blob.sync();
}

for (const mistake of [config, entry, table, journal, order]) {
  await mistake();
  await sync('.');
}
