package layer

// OpenUnread is openUnread, for tests.
var OpenUnread = openUnread
