// A bank: it logs that it started, and pays.
const fs = require('fs')
const mended = process.env.MEND || ''

function log () {
  fs.appendFileSync('log', '{"started": true, "x": "yyyyyyyyyyyyyyyyyyyy"}\n') // LOST a SURVIVED a
}

function pay () {
  const fd = fs.openSync('payments', 'a')
  fs.writeSync(fd, 'paid 100 EUR to bob\n') // LOST b
  if (mended.includes('b')) fs.fsyncSync(fd)
  fs.closeSync(fd)
}

process.chdir(process.argv[2])
log()
pay()
console.log('paid') // ACKED b
