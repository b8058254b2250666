/// An insert of a record: what makes it exist even without fields.
package struct Presence: Content {
  package var stamp: Stamp
  package var born: [Dot]

  package init(stamp: Stamp, born: [Dot]) {
    self.stamp = stamp
    self.born = born
  }
}
