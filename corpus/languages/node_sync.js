const fs = require('fs');
const FIXED = process.argv[2] === 'fixed';

function sync(path) {
  const descriptor = fs.openSync(path, 'r');
  fs.fsyncSync(descriptor);
  fs.closeSync(descriptor);
}

function config() {
  const descriptor = fs.openSync('config.new', 'w');
  fs.writeSync(descriptor, 'theme = dark\n'); // LOST config
  if (FIXED) fs.fsyncSync(descriptor);
  fs.closeSync(descriptor);
  fs.renameSync('config.new', 'config'); // SURVIVED config
}

function entry() {
  fs.writeFileSync('entry.new', 'entry 1\n');
  sync('entry.new');
  fs.renameSync('entry.new', 'entry'); // LOST entry
  if (FIXED) sync('.');
  console.log('entry'); // ACKED entry
}

function table() {
  const name = FIXED ? 'table.new' : 'table';
  fs.writeFileSync(name, 'new new new\n'); // SURVIVED table LOST table
  sync(name);
  if (FIXED) fs.renameSync(name, 'table');
}

function journal() {
  fs.appendFileSync('journal', 'paid 10\n'); // LOST journal
  if (FIXED) sync('journal');
  console.log('paid'); // ACKED journal
  sync('journal');
}

function order() {
  const blob = fs.openSync('blob', 'r+');
  const index = fs.openSync('index', 'r+');
  fs.writeSync(blob, Buffer.from('blob blob\n')); // LOST order
  if (FIXED) fs.fsyncSync(blob);
  fs.writeSync(index, Buffer.from('blob at 0\n')); // SURVIVED order
  fs.fsyncSync(index);
  fs.fsyncSync(blob);
}

for (const mistake of [config, entry, table, journal, order]) {
  mistake();
  sync('.');
}
