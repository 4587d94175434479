const fs = require('fs');
const FIXED = process.argv[2] === 'fixed';

function sync(path, done) {
  fs.open(path, 'r', (_, descriptor) => fs.fsync(descriptor, () => fs.close(descriptor, done)));
}

function syncIf(needed, path, done) {
  if (needed) sync(path, done);
  else done();
}

function config(done) {
  fs.writeFile('config.new', 'theme = dark\n', () => { // LOST config
    syncIf(FIXED, 'config.new', () => {
      fs.rename('config.new', 'config', done); // SURVIVED config
    });
  });
}

function entry(done) {
  fs.writeFile('entry.new', 'entry 1\n', () => {
    sync('entry.new', () => {
      fs.rename('entry.new', 'entry', () => { // LOST entry
        syncIf(FIXED, '.', () => {
          console.log('entry'); // ACKED entry
          done();
        });
      });
    });
  });
}

function table(done) {
  const name = FIXED ? 'table.new' : 'table';
  fs.writeFile(name, 'new new new\n', () => { // SURVIVED table LOST table
    sync(name, () => (FIXED ? fs.rename(name, 'table', done) : done()));
  });
}

function journal(done) {
  const stream = fs.createWriteStream('journal', { flags: 'a' });
  stream.end('paid 10\n'); // LOST journal
  stream.on('close', () => {
    syncIf(FIXED, 'journal', () => {
      console.log('paid'); // ACKED journal
      sync('journal', done);
    });
  });
}

function order(done) {
  fs.open('blob', 'r+', (_, blob) => {
    fs.open('index', 'r+', (_, index) => {
      fs.write(blob, 'blob blob\n', () => { // LOST order
        syncIf(FIXED, 'blob', () => {
          fs.write(index, 'blob at 0\n', () => { // SURVIVED order
            fs.fsync(index, () => fs.fsync(blob, done));
          });
        });
      });
    });
  });
}

const mistakes = [config, entry, table, journal, order];
const next = () => mistakes.length && mistakes.shift()(() => sync('.', next));
next();
