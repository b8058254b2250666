/// What a ``CDBStore`` is told once.
public struct CDBOptions: Sendable {
  /// The format of files that are written. Nil keeps that of the file, begins with `cdb`, and goes
  /// over to `cdb64` when 4 GiB are not enough.
  public var format: CDBFormat?
  /// How much of the file is kept in memory at most, as far as it is read.
  public var cacheBytes = CDBFile.defaultCacheBytes
  /// How long after a change the store saves itself; zero, as it is at first, is never. Further
  /// changes do not put it off.
  public var autosaveInterval: Duration = .zero
  /// How long after ``CDBStore/saveSoon()`` the store saves: what is asked for meanwhile is one
  /// save.
  public var saveSoonDelay: Duration = .milliseconds(50)

  /// The defaults.
  public init() {}
}
