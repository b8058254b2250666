/// What the process tells its caller. The numbers are part of the command line's contract.
enum ExitStatus: Int32 {
  case success = 0
  case failure = 1
  case usage = 2
  case damageFound = 3
  case notFound = 4
  case openElsewhere = 5

  static let explanation = """
    EXIT STATUS: 0 done, 1 failed (or doctor has findings, or ls --refresh holds back deletes), 2 \
    used wrongly, 3 verify found damage, 4 not found (datastore, table, record, or the shared \
    folder that was used before), 5 the datastore is open elsewhere.
    """
}
