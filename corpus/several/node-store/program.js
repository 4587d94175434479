// A store: settings, an index, a log.
const fs = require('fs')
const mended = process.env.MEND || ''

function write (name, flags, text, sync) {
  const fd = fs.openSync(name, flags)
  fs.writeSync(fd, text)
  if (sync) fs.fsyncSync(fd)
  fs.closeSync(fd)
}

process.chdir(process.argv[2])
const here = fs.openSync('.', 'r')
write(mended.includes('a') ? 'settings.new' : 'settings', 'w', '{"volume": 7}\n', true)
if (mended.includes('a')) fs.renameSync('settings.new', 'settings')
fs.fsyncSync(here)

write('index.new', 'w', '["log"]\n', mended.includes('c'))
fs.renameSync('index.new', 'index')
fs.fsyncSync(here)

write('log', 'a', 'started\n', mended.includes('b'))
console.log('logged')
